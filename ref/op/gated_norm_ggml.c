#include "op.h"

/* gated_norm with ggml's sum: r = 1 / sqrt(fl(sum_i fl(x_i^2) / D) + eps),  y_i = ((x_i r) w_i) silu(z_i).
 * x, z, y [T,H,D]; w [D]. Rounded: r as in rmsnorm_ggml, x r, the product with w, silu, the product with it.
 * Source: llama.cpp's graph, RMS_NORM, MUL, SILU, MUL. */
void ts_gated_norm_ggml(const ts_gated_norm_args *a)
{
    for (int64_t th = 0; th < a->T * a->H; th++) {
        const ts_real *x = a->x + th * a->D, *z = a->z + th * a->D;
        ts_real *y = a->y + th * a->D;
        ts_real mean = (ts_real)(ts_squares_ggml(x, a->D) / (double)a->D);
        ts_real r = ts_rsqrt(mean + (ts_real)a->eps);
        for (int64_t i = 0; i < a->D; i++)
            y[i] = ((x[i] * r) * a->w[i]) * ts_silu(z[i]);
    }
}
