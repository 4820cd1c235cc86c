#include "op.h"

/* One group of row n: sum_k x_k code_k and sum_k x_k, chains over its k. */
static void group_sums(const ts_matmul_args *a, const ts_real *x, int64_t n, int64_t g, ts_real *codes,
                       ts_real *sum)
{
    *codes = *sum = 0;
    for (int64_t k = g * a->w->group; k < (g + 1) * a->w->group; k++) {
        *codes = ts_fma(x[k], (ts_real)ts_mlx_code(a->w, n, k), *codes);
        *sum = *sum + x[k];
    }
}

/* y_tn = sum_g (scale_ng sum_{k in g} x_tk code_nk + bias_ng sum_{k in g} x_tk), groups ascending: an MLX matrix
 * whose weights are never formed. x [T,K]; w [N,K], MLX; y [T,N]. Rounded: one fma per k of the first sum, every
 * sum of the second, scale times the first, bias times the second, their sum, the sum with y. Source: MLX, the
 * Metal kernels of quantized_matmul; the lanes of a SIMD group are not replayed. */
void ts_matmul_mlx(const ts_matmul_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t n = 0; n < a->N; n++) {
            ts_real y = 0, codes, sum;
            for (int64_t g = 0; g < a->K / a->w->group; g++) {
                group_sums(a, a->x + t * a->K, n, g, &codes, &sum);
                y = y + (ts_mlx_scale(a->w, n, g) * codes + ts_mlx_bias(a->w, n, g) * sum);
            }
            a->y[t * a->N + n] = y;
        }
}
