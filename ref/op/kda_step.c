#include "lanes.h"
#include "op.h"

/* Columns of the state that are carried together, as in gdn_step. */
enum { COLUMNS = 64 };

/* Token t, value head h, columns j0 .. j0+n-1. */
static void step(const ts_gdn_args *a, int64_t t, int64_t h, int64_t j0, int64_t n)
{
    const int64_t kh = h / (a->Hv / a->Hk), Dk = a->Dk, Dv = a->Dv;
    const ts_real *q = a->q + (t * a->Hk + kh) * Dk, *k = a->k + (t * a->Hk + kh) * Dk;
    const ts_real *g = a->g + (t * a->Hv + h) * Dk, *v = a->v + (t * a->Hv + h) * Dv + j0;
    ts_real *S = a->state + h * Dk * Dv + j0, *o = a->o + (t * a->Hv + h) * Dv + j0;
    const ts_real beta = a->beta[t * a->Hv + h];
    ts_real p[COLUMNS] = {0}, d[COLUMNS], sum[COLUMNS] = {0};

    for (int64_t i = 0; i < Dk; i++) {
        const ts_real decay = ts_exp(g[i]);
        for (int64_t j = 0; j < n; j++) {
            S[i * Dv + j] *= decay;
            p[j] = ts_fma(k[i], S[i * Dv + j], p[j]);
        }
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

/* Kimi Delta Attention, one token after another: gdn_step with a decay of its own for every key channel,
 *
 *   - S_ij = S_ij exp(g_i)
 *   - p_j = sum_i k_i S_ij
 *   - d_j = (v_j - p_j) beta
 *   - S_ij = S_ij + k_i d_j
 *   - o_j = sum_i q_i S_ij
 *
 * g [T,Hv,Dk], all else as in gdn_step, roundings too: with a gate that is the same for all channels it is gdn_step
 * bit for bit. */
void ts_kda_step(const ts_gdn_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t h = 0; h < a->Hv; h++)
            for (int64_t j = 0; j < a->Dv; j += COLUMNS)
                step(a, t, h, j, ts_piece(a->Dv - j, COLUMNS));
}
