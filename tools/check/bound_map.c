/* Bounds of the elementwise operations and of the convolution. */
#include <string.h>

#include "check/bound_op.h"

void ts_bound_map(ts_err (*f)(ts_err), const ts_map_args *a, double *bound)
{
    for (int64_t i = 0; i < a->n; i++)
        bound[i] = ts_err_bound(f(ts_err_exact(a->x[i])));
}

void ts_bound_zip(ts_err (*f)(ts_err, ts_err), const ts_zip_args *a, double *bound)
{
    for (int64_t i = 0; i < a->n; i++)
        bound[i] = ts_err_bound(f(ts_err_exact(a->a[i]), ts_err_exact(a->b[i])));
}

ts_err ts_err_swiglu(ts_err gate, ts_err up)
{
    return ts_err_mul(ts_err_silu(gate), up);
}

ts_err ts_err_sigmoid_gate(ts_err x, ts_err gate)
{
    return ts_err_mul(x, ts_err_sigmoid(gate));
}

/* g = -exp(A_log) softplus(a + dt_bias), beta = sigmoid(b) */
void ts_bound_gdn_gates(const ts_gdn_gates_args *a, const char *field, double *bound)
{
    bool g = strcmp(field, "g") == 0;
    for (int64_t i = 0; i < a->T * a->H; i++) {
        int64_t h = i % a->H;
        ts_err dt = ts_err_softplus(ts_err_add(ts_err_exact(a->a[i]), ts_err_exact(a->dt_bias[h])));
        ts_err rate = ts_err_exp(ts_err_exact(a->A_log[h]));
        bound[i] = ts_err_bound(g ? ts_err_mul(rate, dt) : ts_err_sigmoid(ts_err_exact(a->b[i])));
    }
}

/* g = -exp(A_log) softplus(f + dt_bias), or lower_bound sigmoid(exp(A_log) (f + dt_bias)); beta = beta_scale
 * sigmoid(b) */
void ts_bound_kda_gates(const ts_kda_gates_args *a, bool bounded, const char *field, double *bound)
{
    const int64_t rows = a->T * a->H;
    const ts_err beta_scale = ts_err_param(a->beta_scale), low = ts_err_param(a->lower_bound);
    for (int64_t th = 0; th < rows && strcmp(field, "beta") == 0; th++)
        bound[th] = ts_err_bound(ts_err_mul(beta_scale, ts_err_sigmoid(ts_err_exact(a->b[th]))));
    for (int64_t i = 0; i < rows * a->D && strcmp(field, "g") == 0; i++) {
        int64_t h = i / a->D % a->H;
        ts_err f = ts_err_add(ts_err_exact(a->f[i]), ts_err_exact(a->dt_bias[h * a->D + i % a->D]));
        ts_err rate = ts_err_exp(ts_err_exact(a->A_log[h]));
        bound[i] = ts_err_bound(bounded ? ts_err_mul(low, ts_err_sigmoid(ts_err_mul(rate, f)))
                                        : ts_err_mul(rate, ts_err_softplus(f)));
    }
}

/* Channel d of x[D]: c, s [R/2]. The channels beyond R are copies. */
static ts_err rope_channel(const float *x, const float *c, const float *s, int64_t R, int64_t d)
{
    if (d >= R)
        return (ts_err){(double)x[d], 0};
    int64_t i = d % (R / 2);
    ts_err cos = ts_err_exact(c[i]), sin = ts_err_exact(s[i]);
    ts_err lo = ts_err_exact(x[i]), hi = ts_err_exact(x[i + R / 2]);
    return d < R / 2 ? ts_err_sub(ts_err_mul(lo, cos), ts_err_mul(hi, sin))
                     : ts_err_add(ts_err_mul(hi, cos), ts_err_mul(lo, sin));
}

void ts_bound_rope(const ts_rope_args *a, double *bound)
{
    for (int64_t i = 0; i < a->T * a->H * a->D; i++) {
        int64_t row = i / a->D, t = row / a->H;
        const float *c = a->cos + t * (a->R / 2), *s = a->sin + t * (a->R / 2);
        bound[i] = ts_err_bound(rope_channel(a->x + row * a->D, c, s, a->R, i % a->D));
    }
}

/* y = silu(sum over taps of w_j u_j), u = state then x; the sum stored as `narrow` says, or kept (NULL) */
void ts_bound_conv1d(const ts_conv1d_args *a, const float *state, ts_err (*narrow)(ts_err), double *bound)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t c = 0; c < a->C; c++) {
            ts_err acc = {0, 0};
            for (int64_t j = 0; j < a->W; j++) {
                int64_t from = t - a->W + 1 + j;
                float u = from >= 0 ? a->x[from * a->C + c] : state[c * a->W + a->W + from];
                acc = ts_err_fma(ts_err_exact(a->w[c * a->W + j]), ts_err_exact(u), acc);
            }
            bound[t * a->C + c] = ts_err_bound(ts_err_silu(narrow ? narrow(acc) : acc));
        }
}
