/* Bounds of what the rest of a layer is in the R9700 engine LSE. exp is the nearest f32 there, which the constant
 * of our own exp covers. */
#include <stdlib.h>
#include <string.h>

#include "check/bound_op.h"

enum { LANES = 32, PARTS = 256 };

/* Masks 1, 2, .. 16, or 16 .. 1. */
static ts_err neighbours(ts_err lane[LANES])
{
    for (int mask = 1; mask < LANES; mask *= 2)
        for (int l = 0; l < LANES; l += 2 * mask)
            lane[l] = ts_err_add(lane[l], lane[l + mask]);
    return lane[0];
}

ts_err ts_err_fold(ts_err lane[32])
{
    for (int mask = LANES / 2; mask > 0; mask /= 2)
        for (int l = 0; l < mask; l++)
            lane[l] = ts_err_add(lane[l], lane[l + mask]);
    return lane[0];
}

static ts_err square(float x, ts_err acc)
{
    return ts_err_fma(ts_err_exact(x), ts_err_exact(x), acc);
}

static ts_err chain_of_squares(const float *x, int64_t n)
{
    ts_err sum = {0, 0};
    for (int64_t i = 0; i < n; i++)
        sum = square(x[i], sum);
    return sum;
}

static ts_err folded_squares(const float *x, int64_t n)
{
    ts_err P[PARTS] = {{0, 0}};
    for (int64_t i = 0; i < n; i++)
        P[i % PARTS] = square(x[i], P[i % PARTS]);
    for (int l = 0; l < LANES; l++) {
        const ts_err *p = P + l;
        ts_err a = ts_err_add(ts_err_add(p[0], p[128]), ts_err_add(p[64], p[192]));
        P[l] = ts_err_add(a, ts_err_add(ts_err_add(p[32], p[160]), ts_err_add(p[96], p[224])));
    }
    return ts_err_fold(P);
}

static ts_err root_mean(const float *x, int64_t n, double eps)
{
    ts_err mean = ts_err_div(n < LANES ? chain_of_squares(x, n) : folded_squares(x, n), ts_err_exact((float)n));
    return ts_err_rsqrt(ts_err_add(mean, ts_err_param(eps)));
}

void ts_bound_rmsnorm_lse(const ts_rmsnorm_args *a, double *bound)
{
    for (int64_t t = 0; t < a->T; t++) {
        const float *x = a->x + t * a->n;
        ts_err r = root_mean(x, a->n, a->eps);
        for (int64_t i = 0; i < a->n; i++)
            bound[t * a->n + i] = ts_err_bound(ts_err_normed(r, x[i], a->w[i], a->centred));
    }
}

void ts_bound_gated_norm_lse(const ts_gated_norm_args *a, double *bound)
{
    for (int64_t row = 0; row < a->T * a->H; row++) {
        const float *x = a->x + row * a->D, *z = a->z + row * a->D;
        ts_err r = root_mean(x, a->D, a->eps);
        for (int64_t i = 0; i < a->D; i++) {
            ts_err y = ts_err_normed(r, x[i], a->w[i], 0);
            bound[row * a->D + i] = ts_err_bound(ts_err_mul(y, ts_err_silu(ts_err_exact(z[i]))));
        }
    }
}

/* y = (x / max(root, eps)) scale */
void ts_bound_l2norm_lse(const ts_l2norm_args *a, bool one_row, double *bound)
{
    const ts_err scale = ts_err_param(a->scale), one = {1, 0};
    for (int64_t row = 0; row < a->T * a->H; row++) {
        const float *x = a->x + row * a->D;
        ts_err lane[LANES] = {{0, 0}};
        for (int64_t i = 0; i < a->D && one_row; i++)
            lane[i % LANES] = square(x[i], lane[i % LANES]);
        ts_err root = ts_err_sqrt(one_row ? neighbours(lane) : chain_of_squares(x, a->D));
        ts_err inverse = ts_err_div(one, ts_err_max(root, ts_err_param(a->eps)));
        for (int64_t i = 0; i < a->D; i++)
            bound[row * a->D + i] = ts_err_bound(ts_err_mul(ts_err_mul(ts_err_exact(x[i]), inverse), scale));
    }
}

static double clamp(double x)
{
    return fmin(fmax(x, 1e-4), 1 - 1e-4);
}

/* A clamp moves nothing further apart; its ends are rounded once. */
static ts_err clamped(ts_err x)
{
    if (!isfinite(x.v))
        return x;
    const double v = clamp(x.v);
    return (ts_err){v, fmax(clamp(x.v + x.e) - v, v - clamp(x.v - x.e)) + TS_ERR_U * v};
}

void ts_bound_gdn_gates_lse(const ts_gdn_gates_args *a, const char *field, double *bound)
{
    ts_bound_gates_ggml(a, field, bound);
    for (int64_t i = 0; i < a->T * a->H && strcmp(field, "beta") == 0; i++)
        bound[i] = ts_err_bound(clamped(ts_err_sigmoid(ts_err_exact(a->b[i]))));
}

/* sum_i x_i S_i */
typedef ts_err dot(const ts_err *S, const float *x, int64_t Dk);

static ts_err wave_dot(const ts_err *S, const float *x, int64_t Dk)
{
    ts_err lane[LANES] = {{0, 0}};
    for (int64_t i = 0; i < Dk; i++)
        lane[i % LANES] = ts_err_fma(S[i], ts_err_exact(x[i]), lane[i % LANES]);
    return neighbours(lane);
}

static ts_err half_dot(const ts_err *S, const float *x, int64_t n)
{
    ts_err P[4] = {{0, 0}};
    for (int64_t i = 0; i < n; i++)
        P[i % 4] = ts_err_fma(S[i], ts_err_exact(x[i]), P[i % 4]);
    return ts_err_add(ts_err_add(P[0], P[1]), ts_err_add(P[2], P[3]));
}

static ts_err scan_dot(const ts_err *S, const float *x, int64_t Dk)
{
    const int64_t half = (Dk + 1) / 2;
    return ts_err_add(half_dot(S, x, half), half_dot(S + half, x + half, Dk - half));
}

/* Column j of value head h: S [Dk] is what it becomes. Returns o. */
static ts_err step_column(const ts_gdn_args *a, const float *before, int64_t h, int64_t j, dot *sum, ts_err *S)
{
    const int64_t head = h / (a->Hv / a->Hk);
    const float *q = a->q + head * a->Dk, *k = a->k + head * a->Dk;
    const ts_err decay = ts_err_exp(ts_err_exact(a->g[h])), v = ts_err_exact(a->v[h * a->Dv + j]);
    for (int64_t i = 0; i < a->Dk; i++)
        S[i] = ts_err_mul(ts_err_exact(before[i * a->Dv + j]), decay);
    const ts_err d = ts_err_mul(ts_err_sub(v, sum(S, k, a->Dk)), ts_err_exact(a->beta[h]));
    for (int64_t i = 0; i < a->Dk; i++)
        S[i] = ts_err_fma(d, ts_err_exact(k[i]), S[i]);
    return sum(S, q, a->Dk);
}

static ts_status step(const ts_gdn_args *a, const float *state, const char *field, dot *sum, double *bound,
                      ts_error *err)
{
    if (a->T != 1)
        return ts_fail(err, TS_USAGE, NULL, field, "a step is bounded one token at a time, not %lld",
                       (long long)a->T);
    const bool of_state = strcmp(field, "state") == 0;
    ts_err *S = calloc((size_t)a->Dk, sizeof *S);
    for (int64_t c = 0; S && c < a->Hv * a->Dv; c++) {
        const int64_t h = c / a->Dv, j = c % a->Dv, at = h * a->Dk * a->Dv;
        ts_err o = step_column(a, state + at, h, j, sum, S);
        if (!of_state)
            bound[c] = ts_err_bound(o);
        for (int64_t i = 0; i < a->Dk && of_state; i++)
            bound[at + i * a->Dv + j] = ts_err_bound(S[i]);
    }
    const bool ok = S != NULL;
    free(S);
    return ok ? TS_OK : ts_no_memory(err, (size_t)a->Dk * sizeof *S);
}

ts_status ts_bound_gdn_step_lse(const ts_gdn_args *a, const float *state, const char *field, double *bound,
                                ts_error *err)
{
    return step(a, state, field, wave_dot, bound, err);
}

ts_status ts_bound_gdn_scan_lse(const ts_gdn_args *a, const float *state, const char *field, double *bound,
                                ts_error *err)
{
    return step(a, state, field, scan_dot, bound, err);
}
