#include "cpu/avx512/widen.h"

#include "cpu/avx512/avx512.h"
#include "cpu/portable/widen.h"

static void widen_bf16(const uint16_t *in, int64_t len, float *out)
{
    for (int64_t k = 0; k < len; k += TS_F32X16) {
        ts_mask16 lanes = ts_lanes_of(0, len - k);
        ts_store16_of(out + k, lanes, ts_load_bf16_of(in + k, lanes));
    }
}

static void widen_f16(const uint16_t *in, int64_t len, float *out)
{
    for (int64_t k = 0; k < len; k += TS_F32X16) {
        ts_mask16 lanes = ts_lanes_of(0, len - k);
        ts_store16_of(out + k, lanes, ts_load_f16_of(in + k, lanes));
    }
}

static float aux(ts_dtype dtype, const void *data, int64_t i)
{
    if (dtype == TS_F32)
        return ((const float *)data)[i];
    uint16_t half = ((const uint16_t *)data)[i];
    return dtype == TS_BF16 ? ts_bf16_to_f32(half) : ts_fast_half(half);
}

/* w = fma(scale, code, bias), group by group. */
static void widen_mlx(const ts_matrix *w, int64_t n, int64_t k, int64_t len, float *out)
{
    const ts_codes16 codes = ts_codes16_of(w->bits);
    const uint8_t *in = (const uint8_t *)w->data + (n * w->K + k) * w->bits / 8;
    int64_t g = (n * w->K + k) / w->group;
    for (int64_t i = 0; i < len; g++) {
        ts_f32x16 scale = ts_all16(aux(w->aux, w->scales, g)), bias = ts_all16(aux(w->aux, w->biases, g));
        for (int64_t end = i + w->group; i < end; i += TS_F32X16, in += 2 * w->bits)
            ts_store16(out + i, ts_fma16(scale, ts_to_f32x16(ts_load_codes16(&codes, in)), bias));
    }
}

void ts_avx512_widen(const ts_matrix *w, int64_t n, int64_t k, int64_t len, float *out)
{
    int64_t at = n * w->K + k;
    switch (w->format) {
    case TS_W_BF16:
        widen_bf16((const uint16_t *)w->data + at, len, out);
        break;
    case TS_W_F16:
        widen_f16((const uint16_t *)w->data + at, len, out);
        break;
    case TS_W_F32:
        memcpy(out, (const float *)w->data + at, (size_t)len * sizeof *out);
        break;
    case TS_W_MLX:
        widen_mlx(w, n, k, len, out);
        break;
    }
}
