#include "cpu/portable/widen.h"

#include <string.h>
#include "num/convert.h"
#include "num/real.h"

enum { RUN = 64 };

static void widen_bf16(const uint16_t *in, int64_t len, float *out)
{
    for (int64_t i = 0; i < len; i++)
        out[i] = ts_bf16_to_f32(in[i]);
}

static void widen_f16(const uint16_t *in, int64_t len, float *out)
{
    for (int64_t i = 0; i < len; i++)
        out[i] = ts_fast_half(in[i]);
}

static float aux(const ts_matrix *w, const void *data, int64_t i)
{
    if (w->aux == TS_F32)
        return ((const float *)data)[i];
    uint16_t h = ((const uint16_t *)data)[i];
    return w->aux == TS_BF16 ? ts_bf16_to_f32(h) : ts_fast_half(h);
}

float ts_widen_scale(const ts_matrix *w, int64_t n, int64_t j)
{
    return aux(w, w->scales, n * (w->K / w->group) + j);
}

float ts_widen_bias(const ts_matrix *w, int64_t n, int64_t j)
{
    return aux(w, w->biases, n * (w->K / w->group) + j);
}

void ts_widen_codes(const ts_matrix *w, int64_t n, int64_t k, int64_t len, int16_t *code)
{
    const uint8_t *row = (const uint8_t *)w->data + n * (w->K * w->bits / 8);
    if (w->bits == 8) {
        for (int64_t i = 0; i < len; i++)
            code[i] = row[k + i];
    } else if (w->bits == 4 && k % 2 == 0 && len % 2 == 0) {
        for (int64_t i = 0; i < len / 2; i++) {
            code[2 * i] = row[k / 2 + i] & 15;
            code[2 * i + 1] = row[k / 2 + i] >> 4;
        }
    } else {
        for (int64_t i = 0; i < len; i++)
            code[i] = (int16_t)ts_mlx_code(w, n, k + i);
    }
}

static void widen_mlx(const ts_matrix *w, int64_t n, int64_t k, int64_t len, float *out)
{
    int16_t code[RUN];
    while (len > 0) {
        int64_t run = w->group - k % w->group;
        run = run < len ? run : len;
        run = run < RUN ? run : RUN;
        ts_widen_codes(w, n, k, run, code);
        float scale = ts_widen_scale(w, n, k / w->group), bias = ts_widen_bias(w, n, k / w->group);
        for (int64_t i = 0; i < run; i++)
            out[i] = ts_fma(scale, (float)code[i], bias);
        k += run;
        out += run;
        len -= run;
    }
}

void ts_widen(const ts_matrix *w, int64_t n, int64_t k, int64_t len, float *out)
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
    default: /* no schedule accepts blocks */
        break;
    }
}
