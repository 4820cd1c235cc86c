/* Bounds of the delta rule, one step from the given state. */
#include <string.h>

#include "check/bound_op.h"

/* Element i of column j of the state of one head after the decay. */
static ts_err decayed(const float *S, const ts_gdn_args *a, int64_t i, int64_t j, ts_err decay)
{
    return ts_err_mul(ts_err_exact(S[i * a->Dv + j]), decay);
}

/* Column j of value head h: new_state[i * Dv] for every i, and o. Returns o. decays: of a head, 1 or Dk. */
static ts_err step_column(const ts_gdn_args *a, int64_t decays, const float *S, int64_t h, int64_t j,
                          double *new_state)
{
    int64_t head = h / (a->Hv / a->Hk);
    const float *q = a->q + head * a->Dk, *k = a->k + head * a->Dk, *g = a->g + h * decays;
    ts_err p = {0, 0}, o = {0, 0};
    for (int64_t i = 0; i < a->Dk; i++)
        p = ts_err_fma(ts_err_exact(k[i]), decayed(S, a, i, j, ts_err_exp(ts_err_exact(g[i % decays]))), p);
    ts_err v = ts_err_exact(a->v[h * a->Dv + j]);
    ts_err d = ts_err_mul(ts_err_sub(v, p), ts_err_exact(a->beta[h]));
    for (int64_t i = 0; i < a->Dk; i++) {
        ts_err decay = ts_err_exp(ts_err_exact(g[i % decays]));
        ts_err s = ts_err_fma(ts_err_exact(k[i]), d, decayed(S, a, i, j, decay));
        o = ts_err_fma(ts_err_exact(q[i]), s, o);
        if (new_state)
            new_state[i * a->Dv] = ts_err_bound(s);
    }
    return o;
}

static ts_status step(const ts_gdn_args *a, int64_t decays, const float *state, const char *field, double *bound,
                      ts_error *err)
{
    if (a->T != 1)
        return ts_fail(err, TS_USAGE, NULL, field, "a step is bounded one token at a time, not %lld",
                       (long long)a->T);
    bool of_state = strcmp(field, "state") == 0;
    for (int64_t h = 0; h < a->Hv; h++)
        for (int64_t j = 0; j < a->Dv; j++) {
            int64_t at = h * a->Dk * a->Dv;
            ts_err o = step_column(a, decays, state + at, h, j, of_state ? bound + at + j : NULL);
            if (!of_state)
                bound[h * a->Dv + j] = ts_err_bound(o);
        }
    return TS_OK;
}

ts_status ts_bound_gdn_step(const ts_gdn_args *a, const float *state, const char *field, double *bound,
                            ts_error *err)
{
    return step(a, 1, state, field, bound, err);
}

ts_status ts_bound_kda_step(const ts_gdn_args *a, const float *state, const char *field, double *bound,
                            ts_error *err)
{
    return step(a, a->Dk, state, field, bound, err);
}
