#include "lanes.h"
#include "op.h"

/* Columns of the state that are carried together. No column ever meets another, so this is only the
 * size of two local arrays. */
enum { COLUMNS = 64 };

/* Token t, value head h, columns j0 .. j0+n-1. */
static void step(const ts_gdn_args *a, int64_t t, int64_t h, int64_t j0, int64_t n)
{
    const int64_t kh = h / (a->Hv / a->Hk), Dk = a->Dk, Dv = a->Dv;
    const ts_real *q = a->q + (t * a->Hk + kh) * Dk, *k = a->k + (t * a->Hk + kh) * Dk;
    const ts_real *v = a->v + (t * a->Hv + h) * Dv + j0;
    ts_real *S = a->state + h * Dk * Dv + j0, *o = a->o + (t * a->Hv + h) * Dv + j0;
    const ts_real decay = ts_exp(a->g[t * a->Hv + h]), beta = a->beta[t * a->Hv + h];
    ts_real p[COLUMNS] = {0}, d[COLUMNS], sum[COLUMNS] = {0};

    for (int64_t i = 0; i < Dk; i++)
        for (int64_t j = 0; j < n; j++) {
            S[i * Dv + j] *= decay;
            p[j] = ts_fma(k[i], S[i * Dv + j], p[j]);
        }
    for (int64_t j = 0; j < n; j++)
        d[j] = (v[j] - p[j]) * beta;
    for (int64_t i = 0; i < Dk; i++)
        for (int64_t j = 0; j < n; j++) {
            S[i * Dv + j] = ts_fma(k[i], d[j], S[i * Dv + j]);
            sum[j] = ts_fma(q[i], S[i * Dv + j], sum[j]);
        }
    for (int64_t j = 0; j < n; j++)
        o[j] = sum[j];
}

/* The gated delta rule, one token after another, value head h with key head h / (Hv/Hk):
 *
 *   S_ij = S_ij exp(g)                     decay
 *   p_j  = sum_i k_i S_ij                  what the decayed state recalls for k
 *   d_j  = (v_j - p_j) beta                the correction
 *   S_ij = S_ij + k_i d_j                  write
 *   o_j  = sum_i q_i S_ij                  read after the write
 *
 * q, k [T,Hk,Dk] normalised, q scaled; v, o [T,Hv,Dv]; g, beta [T,Hv]; state [Hv,Dk,Dv], updated.
 * Rounded: exp, the decay, one fma per i of p and of o (ascending, from +0), v - p, the product with
 * beta, the fma of the write. A g > 0 is growth and is computed as such; NaN and infinities in any input
 * go where the arithmetic takes them. */
void ts_gdn_step(const ts_gdn_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t h = 0; h < a->Hv; h++)
            for (int64_t j = 0; j < a->Dv; j += COLUMNS)
                step(a, t, h, j, ts_piece(a->Dv - j, COLUMNS));
}
