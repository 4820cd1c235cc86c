#include "weight.h"

#include "block.h"
#include "format/block.h"
#include "lanes.h"
#include "num/convert.h"

/* Element i of a scale or bias array; widening is exact. */
static ts_real aux(const ts_matrix *w, const void *array, int64_t i)
{
    if (w->aux == TS_BF16)
        return (ts_real)ts_bf16_to_f32(((const uint16_t *)array)[i]);
    if (w->aux == TS_F16)
        return (ts_real)ts_f16_to_f32(((const uint16_t *)array)[i]);
    return (ts_real)((const float *)array)[i];
}

ts_real ts_mlx_scale(const ts_matrix *w, int64_t n, int64_t group)
{
    return aux(w, w->scales, n * (w->K / w->group) + group);
}

ts_real ts_mlx_bias(const ts_matrix *w, int64_t n, int64_t group)
{
    return aux(w, w->biases, n * (w->K / w->group) + group);
}

/* w = fma(scale, code, bias), code unsigned: one rounding. */
static void mlx_run(const ts_matrix *w, int64_t n, int64_t k, int64_t count, ts_real *out)
{
    for (int64_t i = 0, end; i < count; i = end) {
        int64_t group = (k + i) / w->group;
        ts_real scale = ts_mlx_scale(w, n, group), bias = ts_mlx_bias(w, n, group);
        end = ts_piece((group + 1) * w->group - k, count);
        for (int64_t c = i; c < end; c++)
            out[c] = ts_fma(scale, (ts_real)ts_mlx_code(w, n, k + c), bias);
    }
}

/* Blocks as their formats decode them. */
static void block_run(const ts_matrix *w, int64_t n, int64_t k, int64_t count, ts_real *out)
{
    const ts_ggml_type *type = ts_block_type(w->format);
    const uint8_t *row = (const uint8_t *)w->data + n * ts_matrix_row_bytes(w);
    ts_real x[TS_SUPER];
    for (int64_t i = 0, end; i < count; i = end) {
        int64_t block = (k + i) / type->elements, first = block * type->elements - k;
        ts_block_codec_of(w->format)->decode(row + block * type->bytes, x);
        end = ts_piece(first + type->elements, count);
        for (int64_t c = i; c < end; c++)
            out[c] = x[c - first];
    }
}

/* Weights (n, k .. k+count-1) of w [N,K] as ts_real. bf16, f16 and f32 widen exactly. */
void ts_weight_run(const ts_matrix *w, int64_t n, int64_t k, int64_t count, ts_real *out)
{
    const int64_t first = n * w->K + k;
    switch (w->format) {
    case TS_W_BF16:
        for (int64_t i = 0; i < count; i++)
            out[i] = (ts_real)ts_bf16_to_f32(((const uint16_t *)w->data)[first + i]);
        break;
    case TS_W_F16:
        for (int64_t i = 0; i < count; i++)
            out[i] = (ts_real)ts_f16_to_f32(((const uint16_t *)w->data)[first + i]);
        break;
    case TS_W_F32:
        for (int64_t i = 0; i < count; i++)
            out[i] = (ts_real)((const float *)w->data)[first + i];
        break;
    case TS_W_MLX:
        mlx_run(w, n, k, count, out);
        break;
    default:
        block_run(w, n, k, count, out);
    }
}
