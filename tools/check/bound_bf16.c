/* Bounds of the forms that store what lies between two steps as bf16. */
#include <string.h>

#include "check/bound_op.h"

void ts_bound_scale(const ts_scale_args *a, double *bound)
{
    for (int64_t i = 0; i < a->n; i++)
        bound[i] = ts_err_bound(ts_err_mul(ts_err_exact(a->x[i]), ts_err_param(a->scale)));
}

ts_err ts_err_swiglu_bf16(ts_err gate, ts_err up)
{
    return ts_err_mul(ts_err_bf16(ts_err_silu(gate)), up);
}

ts_err ts_err_sigmoid_gate_bf16(ts_err x, ts_err gate)
{
    return ts_err_mul(x, ts_err_bf16(ts_err_sigmoid(gate)));
}

/* g as in gdn_gates; beta = m(sigmoid(b)) */
void ts_bound_gates_bf16(const ts_gdn_gates_args *a, const char *field, double *bound)
{
    ts_bound_gdn_gates(a, field, bound);
    for (int64_t i = 0; i < a->T * a->H && strcmp(field, "beta") == 0; i++)
        bound[i] = ts_err_bound(ts_err_bf16(ts_err_sigmoid(ts_err_exact(a->b[i]))));
}

/* m(x c) of two inputs */
static ts_err product(float x, float c)
{
    return ts_err_bf16(ts_err_mul(ts_err_exact(x), ts_err_exact(c)));
}

void ts_bound_rope_bf16(const ts_rope_args *a, double *bound)
{
    const int64_t half = a->R / 2;
    for (int64_t i = 0; i < a->T * a->H * a->D; i++) {
        int64_t row = i / a->D, d = i % a->D, at = row / a->H * half + d % half;
        const float *x = a->x + row * a->D;
        float c = a->cos[at], s = a->sin[at];
        ts_err y = {0, 0};
        if (d < half)
            y = ts_err_sub(product(x[d], c), product(x[d + half], s));
        else if (d < a->R)
            y = ts_err_add(product(x[d], c), product(x[d - half], s));
        bound[i] = ts_err_bound(y);
    }
}

void ts_bound_gated_norm_bf16(const ts_gated_norm_args *a, double *bound)
{
    for (int64_t row = 0; row < a->T * a->H; row++) {
        const float *x = a->x + row * a->D, *z = a->z + row * a->D;
        ts_err r = ts_err_root_mean(x, a->D, a->eps);
        for (int64_t i = 0; i < a->D; i++) {
            ts_err n = ts_err_bf16(ts_err_mul(ts_err_exact(x[i]), r));
            n = ts_err_bf16(ts_err_mul(ts_err_exact(a->w[i]), n));
            bound[row * a->D + i] = ts_err_bound(ts_err_mul(n, ts_err_silu(ts_err_exact(z[i]))));
        }
    }
}

/* y += scale sum(x code) + bias sum(x), group by group */
static ts_err mlx_element(const ts_matmul_args *a, const float *x, int64_t n)
{
    ts_err y = {0, 0};
    for (int64_t g = 0; g < a->K / a->w->group; g++) {
        ts_err codes = {0, 0}, sum = {0, 0};
        for (int64_t k = g * a->w->group; k < (g + 1) * a->w->group; k++) {
            codes = ts_err_fma(ts_err_exact(x[k]), ts_err_exact((float)ts_mlx_code(a->w, n, k)), codes);
            sum = ts_err_add(sum, ts_err_exact(x[k]));
        }
        ts_err scaled = ts_err_mul(ts_err_mlx_scale(a->w, n, g), codes);
        y = ts_err_add(y, ts_err_add(scaled, ts_err_mul(ts_err_mlx_bias(a->w, n, g), sum)));
    }
    return y;
}

void ts_bound_matmul_mlx(const ts_matmul_args *a, double *bound)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t n = 0; n < a->N; n++)
            bound[t * a->N + n] = ts_err_bound(mlx_element(a, a->x + t * a->K, n));
}

/* y = m(y + m(x m(m(scale code) + bias))) */
static ts_err mlx_bf16_element(const ts_matmul_args *a, const float *x, int64_t n)
{
    ts_err y = {0, 0};
    for (int64_t k = 0; k < a->K; k++) {
        int64_t g = k / a->w->group;
        ts_err code = ts_err_exact((float)ts_mlx_code(a->w, n, k));
        ts_err w = ts_err_bf16(ts_err_mul(ts_err_mlx_scale(a->w, n, g), code));
        w = ts_err_bf16(ts_err_add(w, ts_err_mlx_bias(a->w, n, g)));
        y = ts_err_bf16(ts_err_add(y, ts_err_bf16(ts_err_mul(ts_err_exact(x[k]), w))));
    }
    return y;
}

void ts_bound_matmul_mlx_bf16(const ts_matmul_args *a, double *bound)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t n = 0; n < a->N; n++)
            bound[t * a->N + n] = ts_err_bound(mlx_bf16_element(a, a->x + t * a->K, n));
}
