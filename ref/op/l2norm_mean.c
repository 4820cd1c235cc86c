#include "op.h"

/* y_i = x_i / sqrt(sum_i x_i^2 / D + eps) * scale, per head: an RMS norm without weights, then a factor; D eps
 * takes the place of l2norm's eps. x, y [T,H,D]. Rounded: dot32(x,x), the mean, the sum with eps, rsqrt (twice), x
 * r, the product with scale. Source: mlx-lm, models/qwen3_5.py. */
void ts_l2norm_mean(const ts_l2norm_args *a)
{
    for (int64_t th = 0; th < a->T * a->H; th++) {
        const ts_real *x = a->x + th * a->D;
        ts_real *y = a->y + th * a->D;
        ts_real r = ts_rsqrt(ts_dot32(x, x, a->D) / (ts_real)a->D + (ts_real)a->eps);
        for (int64_t i = 0; i < a->D; i++)
            y[i] = (x[i] * r) * (ts_real)a->scale;
    }
}
