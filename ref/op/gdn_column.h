/* Steps of the delta rule whose dots over the key channels are not one chain: a column of the state at a time. */
#ifndef TS_OP_GDN_COLUMN_H
#define TS_OP_GDN_COLUMN_H

#include "op.h"

/* sum_i x_i S_ij of column j in the form's own order. x [Dk], S [Dk,Dv] */
typedef ts_real ts_gdn_dot(const ts_real *x, const ts_real *S, int64_t Dk, int64_t Dv, int64_t j);

/* Token t, value head h. */
static inline void ts_gdn_column_step(const ts_gdn_args *a, int64_t t, int64_t h, ts_gdn_dot *dot,
                                      ts_real (*exp)(ts_real))
{
    const int64_t kh = h / (a->Hv / a->Hk), Dk = a->Dk, Dv = a->Dv;
    const ts_real *q = a->q + (t * a->Hk + kh) * Dk, *k = a->k + (t * a->Hk + kh) * Dk;
    const ts_real *v = a->v + (t * a->Hv + h) * Dv;
    ts_real *S = a->state + h * Dk * Dv, *o = a->o + (t * a->Hv + h) * Dv;
    const ts_real decay = exp(a->g[t * a->Hv + h]), beta = a->beta[t * a->Hv + h];
    for (int64_t i = 0; i < Dk * Dv; i++)
        S[i] *= decay;
    for (int64_t j = 0; j < Dv; j++) {
        ts_real d = (v[j] - dot(k, S, Dk, Dv, j)) * beta;
        for (int64_t i = 0; i < Dk; i++)
            S[i * Dv + j] = ts_fma(d, k[i], S[i * Dv + j]);
        o[j] = dot(q, S, Dk, Dv, j);
    }
}

static inline void ts_gdn_columns(const ts_gdn_args *a, ts_gdn_dot *dot, ts_real (*exp)(ts_real))
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t h = 0; h < a->Hv; h++)
            ts_gdn_column_step(a, t, h, dot, exp);
}

#endif
