#include "lse.h"

/* sum_i x_i S_ij: lane l takes i = l, l+32, ..., the butterfly has masks 1, 2, 4, 8, 16. x [Dk] */
static ts_real column_dot(const ts_real *x, const ts_real *S, int64_t Dk, int64_t Dv, int64_t j)
{
    ts_real lane[TS_LANES] = {0};
    for (int64_t i = 0; i < Dk; i++)
        lane[i % TS_LANES] = ts_fma(S[i * Dv + j], x[i], lane[i % TS_LANES]);
    return ts_butterfly(lane, TS_LANES);
}

/* Token t, value head h. */
static void step(const ts_gdn_args *a, int64_t t, int64_t h)
{
    const int64_t kh = h / (a->Hv / a->Hk), Dk = a->Dk, Dv = a->Dv;
    const ts_real *q = a->q + (t * a->Hk + kh) * Dk, *k = a->k + (t * a->Hk + kh) * Dk;
    const ts_real *v = a->v + (t * a->Hv + h) * Dv;
    ts_real *S = a->state + h * Dk * Dv, *o = a->o + (t * a->Hv + h) * Dv;
    const ts_real decay = ts_lse_exp(a->g[t * a->Hv + h]), beta = a->beta[t * a->Hv + h];
    for (int64_t i = 0; i < Dk * Dv; i++)
        S[i] *= decay;
    for (int64_t j = 0; j < Dv; j++) {
        ts_real d = (v[j] - column_dot(k, S, Dk, Dv, j)) * beta;
        for (int64_t i = 0; i < Dk; i++)
            S[i * Dv + j] = ts_fma(d, k[i], S[i * Dv + j]);
        o[j] = column_dot(q, S, Dk, Dv, j);
    }
}

/* gdn_step in LSE's wave form: the dots over key channels run in the 32 lanes of a wave. Equations, shapes and the
 * rest of the roundings: as gdn_step. */
void ts_gdn_step_lse(const ts_gdn_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t h = 0; h < a->Hv; h++)
            step(a, t, h);
}
