/* Bounds of weights and products in ggml's blocks. */
#include <stdlib.h>
#include <string.h>

#include "check/bound_op.h"
#include "num/convert.h"
#include "ref.h"

/* A block's value has one rounding: the products of an f16 scale, a sub-block's scale and a code are exact but for
 * Q6_K's last one, and Q4_1, Q5_1, Q4_K and Q5_K round their difference only. */
ts_err ts_err_block_weight(const ts_matrix *w, int64_t n, int64_t k)
{
    double x[256];
    const ts_ggml_type *type = ts_block_type(w->format);
    const uint8_t *row = (const uint8_t *)w->data + n * ts_matrix_row_bytes(w);
    ts_ref64.block_decode(w->format, row + k / type->elements * type->bytes, type->elements, x);
    double v = x[k % type->elements];
    return isfinite(v) ? ts_err_round(v, 0, TS_ERR_U, TS_ERR_TINY) : (ts_err){v, 0};
}

/* Minima are terms of their own: m, or at most 63 dmin; both stand in the half at byte 2. */
double ts_bound_block_minimum(ts_weight_format format, const uint8_t *block)
{
    double low = fabs((double)ts_f16_to_f32((uint16_t)(block[2] | block[3] << 8)));
    if (format == TS_W_Q4_1 || format == TS_W_Q5_1)
        return low;
    return format == TS_W_Q4_K || format == TS_W_Q5_K ? 63 * low : 0;
}

/* Sums over blocks and lanes: no term goes through more than blocks + 16 roundings (a product of scales, the
 * product with the integer sum, the chain over blocks, for IQ4_XS over its eight sub-blocks too, eight lanes), each
 * by at most u of the sum of absolute terms. The minima's part of |w| is at most twice the largest one. */
double ts_bound_block_dot(ts_weight_format format, const uint8_t *w, const uint8_t *a, int64_t n)
{
    const ts_ggml_type *type = ts_block_type(format), *other = ts_block_type(ts_block_activation(format));
    double x[256], y[256], terms = 0;
    for (int64_t i = 0; i < n / type->elements; i++) {
        const uint8_t *block = w + i * type->bytes;
        ts_ref64.block_decode(format, block, type->elements, x);
        ts_ref64.block_decode(ts_block_activation(format), a + i * type->elements / other->elements * other->bytes,
                              type->elements, y);
        for (int j = 0; j < type->elements; j++)
            terms += (fabs(x[j]) + 2 * ts_bound_block_minimum(format, block)) * fabs(y[j]);
    }
    double roundings = (double)(n / 32 + 16);
    if (!(terms <= (double)FLT_MAX)) /* a sum may overflow in f32 */
        return (double)INFINITY;
    return (roundings * TS_ERR_U * terms + roundings * TS_ERR_TINY) * TS_ERR_WIDEN;
}

/* The blocks hold codes of the same f32 numbers on both sides: equal. */
void ts_bound_matmul_ggml(const ts_matmul_ggml_args *a, const char *field, double *bound)
{
    const int64_t row = ts_matrix_row_bytes(a->w);
    if (strcmp(field, "block") == 0) {
        memset(bound, 0, (size_t)(a->T * a->B) * sizeof *bound);
        return;
    }
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t n = 0; n < a->N; n++)
            bound[t * a->N + n] = ts_bound_block_dot(a->w->format, (const uint8_t *)a->w->data + n * row,
                                                     (const uint8_t *)a->block + t * a->B, a->K);
}
