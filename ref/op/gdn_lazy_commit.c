#include "op.h"

/* V_ij = u_ij - sum_x w_ix S_xj */
static ts_real correction(const ts_gdn_lazy_commit_args *a, int64_t h, int64_t i, int64_t j)
{
    const ts_real *w = a->w + (i * a->Hv + h) * a->Dk, *S = a->state + h * a->Dk * a->Dv;
    ts_real wS = 0;
    for (int64_t x = 0; x < a->Dk; x++)
        wS = ts_fma(w[x], S[x * a->Dv + j], wS);
    return a->u[(i * a->Hv + h) * a->Dv + j] - wS;
}

/* Column j of value head h: the corrections first, as they need the state of before. */
static void commit(const ts_gdn_lazy_commit_args *a, int64_t h, int64_t j)
{
    const int64_t kh = h / (a->Hv / a->Hk);
    const ts_real last = a->G[(a->kept - 1) * a->Hv + h];
    ts_real V[TS_MOST_CHUNK];
    for (int64_t i = 0; i < a->kept; i++)
        V[i] = correction(a, h, i, j);
    for (int64_t x = 0; x < a->Dk; x++) {
        ts_real *S = a->state + (h * a->Dk + x) * a->Dv + j;
        *S = *S * ts_exp(last);
        for (int64_t i = 0; i < a->kept; i++) {
            const ts_real k = a->k[(i * a->Hk + kh) * a->Dk + x] * ts_exp(last - a->G[i * a->Hv + h]);
            *S = ts_fma(k, V[i], *S);
        }
    }
}

/* Commits the first `kept` rows of gdn_lazy_rows to the state, the others as if they had never been:
 *
 *   V = u - w S,  S = exp(G_m) S + sum_i (k_i exp(G_m - G_i)) V_i over the rows i <= m = kept - 1
 *
 * which is gdn_chunk over those rows, bit for bit. kept = 0 leaves the state alone. k [T,Hk,Dk], u [T,Hv,Dv],
 * w [T,Hv,Dk], G [T,Hv], state [Hv,Dk,Dv]. Rounded as gdn_chunk's carry. */
void ts_gdn_lazy_commit(const ts_gdn_lazy_commit_args *a)
{
    for (int64_t h = 0; a->kept > 0 && h < a->Hv; h++)
        for (int64_t j = 0; j < a->Dv; j++)
            commit(a, h, j);
}
