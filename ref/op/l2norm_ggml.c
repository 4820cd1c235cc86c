#include "op.h"

/* The norm of q and k in llama.cpp from v0.5.0 on (September 2026): an RMS norm without weights, then a factor:
 * r = 1 / sqrt(fl(sum_i fl(x_i^2) / D) + eps),  y_i = x_i r scale. With eps = 1e-6 / D and scale = D^-0.5 that is
 * x / sqrt(sum + 1e-6). x, y [T,H,D]. Rounded: as rmsnorm_ggml to r, then x r, the product with scale.
 * Source: the graph that v0.5.0 runs (RMS_NORM, SCALE). Earlier: x / max(||x||, eps). */
void ts_l2norm_ggml(const ts_l2norm_args *a)
{
    for (int64_t th = 0; th < a->T * a->H; th++) {
        const ts_real *x = a->x + th * a->D;
        ts_real *y = a->y + th * a->D;
        ts_real mean = (ts_real)(ts_squares_ggml(x, a->D) / (double)a->D);
        ts_real r = ts_rsqrt(mean + (ts_real)a->eps);
        for (int64_t i = 0; i < a->D; i++)
            y[i] = (x[i] * r) * (ts_real)a->scale;
    }
}
