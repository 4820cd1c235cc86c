#include "op.h"

/* y_i = x_i / sqrt(sum_i x_i^2 + eps) * scale, per head; eps stands under the root, so a zero vector
 * stays zero. x, y [T,H,D]. Rounded: dot32(x,x), the sum with eps, rsqrt (twice), x r, the product
 * with scale. */
void ts_l2norm(const ts_l2norm_args *a)
{
    for (int64_t th = 0; th < a->T * a->H; th++) {
        const ts_real *x = a->x + th * a->D;
        ts_real *y = a->y + th * a->D;
        ts_real r = ts_rsqrt(ts_dot32(x, x, a->D) + (ts_real)a->eps);
        for (int64_t i = 0; i < a->D; i++)
            y[i] = (x[i] * r) * (ts_real)a->scale;
    }
}
