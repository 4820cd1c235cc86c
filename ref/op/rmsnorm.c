#include "op.h"

/* r = 1 / sqrt(sum_i x_i^2 / n + eps),  y_i = x_i r g_i,  g = 1 + w if centred, else w.
 * x, y [T,n]; w [n]. Rounded: dot32(x,x), the mean, the sum with eps, rsqrt (twice), x r, 1 + w,
 * the product with g. */
void ts_rmsnorm(const ts_rmsnorm_args *a)
{
    for (int64_t t = 0; t < a->T; t++) {
        const ts_real *x = a->x + t * a->n;
        ts_real *y = a->y + t * a->n;
        ts_real r = ts_rsqrt(ts_dot32(x, x, a->n) / (ts_real)a->n + (ts_real)a->eps);
        for (int64_t i = 0; i < a->n; i++)
            y[i] = (x[i] * r) * (a->centred ? 1 + a->w[i] : a->w[i]);
    }
}
