#include "op.h"

/* r = 1 / sqrt(sum_i x_i^2 / D + eps),  y_i = x_i r w_i sigmoid(z_i), per head: the output norm of Kimi Delta
 * Attention, gated_norm but for the gate. Shapes and roundings as there, sigmoid in place of silu. */
void ts_gated_norm_sigmoid(const ts_gated_norm_args *a)
{
    for (int64_t th = 0; th < a->T * a->H; th++) {
        const ts_real *x = a->x + th * a->D, *z = a->z + th * a->D;
        ts_real *y = a->y + th * a->D;
        ts_real r = ts_rsqrt(ts_dot32(x, x, a->D) / (ts_real)a->D + (ts_real)a->eps);
        for (int64_t i = 0; i < a->D; i++)
            y[i] = ((x[i] * r) * a->w[i]) * ts_sigmoid(z[i]);
    }
}
