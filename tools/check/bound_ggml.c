/* Bounds of ggml's norms, gates and delta rule, and of the norm by the mean. */
#include <string.h>

#include "check/bound_op.h"

/* mean = fl(sum of rounded squares / n): the sum itself is double on both sides */
static ts_err root_mean_ggml(const float *x, int64_t n, double eps)
{
    ts_err sum = {0, 0};
    for (int64_t i = 0; i < n; i++) {
        ts_err square = ts_err_mul(ts_err_exact(x[i]), ts_err_exact(x[i]));
        sum = (ts_err){sum.v + square.v, sum.e + square.e};
    }
    double count = (double)n;
    ts_err mean = isfinite(sum.v) ? ts_err_round(sum.v / count, sum.e / count, TS_ERR_U, TS_ERR_TINY) : sum;
    return ts_err_rsqrt(ts_err_add(mean, ts_err_param(eps)));
}

void ts_bound_rmsnorm_ggml(const ts_rmsnorm_args *a, double *bound)
{
    for (int64_t t = 0; t < a->T; t++) {
        const float *x = a->x + t * a->n;
        ts_err r = root_mean_ggml(x, a->n, a->eps);
        for (int64_t i = 0; i < a->n; i++)
            bound[t * a->n + i] = ts_err_bound(ts_err_normed(r, x[i], a->w[i], a->centred));
    }
}

static void l2norm(const ts_l2norm_args *a, ts_err (*root)(const float *, int64_t, double), double *bound)
{
    ts_err scale = ts_err_param(a->scale);
    for (int64_t row = 0; row < a->T * a->H; row++) {
        const float *x = a->x + row * a->D;
        ts_err r = root(x, a->D, a->eps);
        for (int64_t i = 0; i < a->D; i++)
            bound[row * a->D + i] = ts_err_bound(ts_err_mul(ts_err_mul(ts_err_exact(x[i]), r), scale));
    }
}

void ts_bound_l2norm_mean(const ts_l2norm_args *a, double *bound)
{
    l2norm(a, ts_err_root_mean, bound);
}

void ts_bound_l2norm_ggml(const ts_l2norm_args *a, double *bound)
{
    l2norm(a, root_mean_ggml, bound);
}

void ts_bound_gated_norm_ggml(const ts_gated_norm_args *a, double *bound)
{
    for (int64_t row = 0; row < a->T * a->H; row++) {
        const float *x = a->x + row * a->D, *z = a->z + row * a->D;
        ts_err r = root_mean_ggml(x, a->D, a->eps);
        for (int64_t i = 0; i < a->D; i++) {
            ts_err y = ts_err_normed(r, x[i], a->w[i], 0);
            bound[row * a->D + i] = ts_err_bound(ts_err_mul(y, ts_err_silu(ts_err_exact(z[i]))));
        }
    }
}

/* log(1 + exp(x)). log(s) moves by at most -log(1 - e/s). Above 20 either side may return x itself, which is
 * exp(-x) below the true value; 19 leaves room for x on two sides of the threshold. */
static ts_err softplus_ggml(ts_err x)
{
    if (!isfinite(x.v))
        return ts_err_softplus(x);
    if (x.v > 19)
        return ts_err_round(x.v > 20 ? x.v : log(1 + exp(x.v)), x.e + exp(-x.v + x.e), TS_ERR_U, 0);
    ts_err sum = ts_err_add((ts_err){1, 0}, ts_err_exp(x));
    return ts_err_round(log(sum.v), -log1p(-sum.e / sum.v), TS_ERR_U, TS_ERR_TINY);
}

/* g = -exp(A_log) log(1 + exp(a + dt_bias)), beta = sigmoid(b) */
void ts_bound_gates_ggml(const ts_gdn_gates_args *a, const char *field, double *bound)
{
    ts_bound_gdn_gates(a, field, bound);
    for (int64_t i = 0; i < a->T * a->H && strcmp(field, "g") == 0; i++) {
        int64_t h = i % a->H;
        ts_err dt = softplus_ggml(ts_err_add(ts_err_exact(a->a[i]), ts_err_exact(a->dt_bias[h])));
        bound[i] = ts_err_bound(ts_err_mul(ts_err_exp(ts_err_exact(a->A_log[h])), dt));
    }
}

/* Column j of value head h: new_state[i * Dv] for every i, and o. Returns o. */
static ts_err step_column(const ts_gdn_args *a, const float *S, int64_t h, int64_t j, double *new_state)
{
    int64_t head = h / (a->Hv / a->Hk);
    const float *q = a->q + head * a->Dk, *k = a->k + head * a->Dk;
    ts_err decay = ts_err_exp(ts_err_exact(a->g[h]));
    ts_err_dot32 p = {0}, o = {0};
    for (int64_t i = 0; i < a->Dk; i++)
        ts_err_dot32_term(&p, i, ts_err_mul(ts_err_exact(S[i * a->Dv + j]), decay), ts_err_exact(k[i]));
    ts_err v = ts_err_exact(a->v[h * a->Dv + j]);
    ts_err d = ts_err_mul(ts_err_sub(v, ts_err_dot32_sum(&p)), ts_err_exact(a->beta[h]));
    for (int64_t i = 0; i < a->Dk; i++) {
        ts_err s = ts_err_fma(d, ts_err_exact(k[i]), ts_err_mul(ts_err_exact(S[i * a->Dv + j]), decay));
        ts_err_dot32_term(&o, i, s, ts_err_exact(q[i]));
        if (new_state)
            new_state[i * a->Dv] = ts_err_bound(s);
    }
    return ts_err_dot32_sum(&o);
}

ts_status ts_bound_gdn_step_ggml(const ts_gdn_args *a, const float *state, const char *field, double *bound,
                                 ts_error *err)
{
    if (a->T != 1)
        return ts_fail(err, TS_USAGE, NULL, field, "gdn_step_ggml is bounded one token at a time, not %lld",
                       (long long)a->T);
    bool of_state = strcmp(field, "state") == 0;
    for (int64_t h = 0; h < a->Hv; h++)
        for (int64_t j = 0; j < a->Dv; j++) {
            int64_t at = h * a->Dk * a->Dv;
            ts_err o = step_column(a, state + at, h, j, of_state ? bound + at + j : NULL);
            if (!of_state)
                bound[h * a->Dv + j] = ts_err_bound(o);
        }
    return TS_OK;
}
