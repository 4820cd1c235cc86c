/* Bounds of the norms: one sum of squares, its reciprocal root, then products. */
#include "check/bound_op.h"

ts_err ts_err_root_mean(const float *x, int64_t n, double eps)
{
    ts_err mean = ts_err_div(ts_err_squares(x, n), ts_err_exact((float)n));
    return ts_err_rsqrt(ts_err_add(mean, ts_err_param(eps)));
}

ts_err ts_err_normed(ts_err r, float x, float w, int64_t centred)
{
    ts_err g = ts_err_exact(w);
    if (centred)
        g = ts_err_add(ts_err_exact(1), g);
    return ts_err_mul(ts_err_mul(ts_err_exact(x), r), g);
}

void ts_bound_rmsnorm(const ts_rmsnorm_args *a, double *bound)
{
    for (int64_t t = 0; t < a->T; t++) {
        const float *x = a->x + t * a->n;
        ts_err r = ts_err_root_mean(x, a->n, a->eps);
        for (int64_t i = 0; i < a->n; i++)
            bound[t * a->n + i] = ts_err_bound(ts_err_normed(r, x[i], a->w[i], a->centred));
    }
}

void ts_bound_l2norm(const ts_l2norm_args *a, double *bound)
{
    ts_err scale = ts_err_param(a->scale), eps = ts_err_param(a->eps);
    for (int64_t row = 0; row < a->T * a->H; row++) {
        const float *x = a->x + row * a->D;
        ts_err r = ts_err_rsqrt(ts_err_add(ts_err_squares(x, a->D), eps));
        for (int64_t i = 0; i < a->D; i++)
            bound[row * a->D + i] = ts_err_bound(ts_err_mul(ts_err_mul(ts_err_exact(x[i]), r), scale));
    }
}

void ts_bound_gated_norm(const ts_gated_norm_args *a, ts_err (*gate)(ts_err), double *bound)
{
    for (int64_t row = 0; row < a->T * a->H; row++) {
        const float *x = a->x + row * a->D, *z = a->z + row * a->D;
        ts_err r = ts_err_root_mean(x, a->D, a->eps);
        for (int64_t i = 0; i < a->D; i++) {
            ts_err y = ts_err_mul(ts_err_mul(ts_err_exact(x[i]), r), ts_err_exact(a->w[i]));
            bound[row * a->D + i] = ts_err_bound(ts_err_mul(y, gate(ts_err_exact(z[i]))));
        }
    }
}
