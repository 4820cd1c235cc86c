#include "op.h"

/* rmsnorm with ggml's sum: r = 1 / sqrt(fl(sum_i fl(x_i^2) / n) + eps),  y_i = x_i r g_i,  g = 1 + w if centred,
 * else w (a GGUF file holds 1 + w). x, y [T,n]; w [n]. Rounded: the squares, not their sum (double); the mean once,
 * the sum with eps, rsqrt (twice), x r, 1 + w, the product with g. Source: as ts_squares_ggml. */
void ts_rmsnorm_ggml(const ts_rmsnorm_args *a)
{
    for (int64_t t = 0; t < a->T; t++) {
        const ts_real *x = a->x + t * a->n;
        ts_real *y = a->y + t * a->n;
        ts_real mean = (ts_real)(ts_squares_ggml(x, a->n) / (double)a->n);
        ts_real r = ts_rsqrt(mean + (ts_real)a->eps);
        for (int64_t i = 0; i < a->n; i++)
            y[i] = (x[i] * r) * (a->centred ? 1 + a->w[i] : a->w[i]);
    }
}
