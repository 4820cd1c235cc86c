#include "op.h"

/* A_ij = ((beta_i k_i) . k_j) exp(G_i - G_j) of value head h, as gdn_chunk has it. */
static ts_real below(const ts_gdn_lazy_rows_args *a, int64_t h, int64_t i, int64_t j)
{
    const int64_t kh = h / (a->Hv / a->Hk);
    const ts_real *ki = a->k + (i * a->Hk + kh) * a->Dk, *kj = a->k + (j * a->Hk + kh) * a->Dk;
    const ts_real beta = a->beta[i * a->Hv + h];
    ts_real kk = 0;
    for (int64_t x = 0; x < a->Dk; x++)
        kk = ts_fma(beta * ki[x], kj[x], kk);
    return kk * ts_exp(a->G[i * a->Hv + h] - a->G[j * a->Hv + h]);
}

/* Row i of X <- (I + A)^-1 X, X [T,Hv,n], the rows before it done. */
static void substitute(const ts_gdn_lazy_rows_args *a, const ts_real *A, int64_t h, int64_t i, ts_real *X,
                       int64_t n)
{
    ts_real *row = X + (i * a->Hv + h) * n;
    for (int64_t j = 0; j < i; j++)
        for (int64_t x = 0; x < n; x++)
            row[x] = ts_fma(-A[j], X[(j * a->Hv + h) * n + x], row[x]);
}

/* What the chunk form of the delta rule knows of T rows before it meets the state: verification keeps it, and
 * gdn_lazy_commit puts as many rows into the state as were accepted, with no recurrence run again.
 *
 *   G_i = sum of g,  u = (I + A)^-1 (beta v),  w = (I + A)^-1 (beta k exp(G)),  A as in gdn_chunk
 *
 * (I + A)^-1 is lower triangular: row i depends on no later row. Shapes: k [T,Hk,Dk], v, u [T,Hv,Dv], w [T,Hv,Dk],
 * g, beta, G [T,Hv]. Rounded as the same values in gdn_chunk. */
void ts_gdn_lazy_rows(const ts_gdn_lazy_rows_args *a)
{
    ts_real A[TS_MOST_CHUNK];
    for (int64_t i = 0; i < a->T; i++)
        for (int64_t h = 0; h < a->Hv; h++) {
            const int64_t at = i * a->Hv + h;
            const ts_real *k = a->k + (i * a->Hk + h / (a->Hv / a->Hk)) * a->Dk, beta = a->beta[at];
            a->G[at] = i ? a->G[at - a->Hv] + a->g[at] : a->g[at];
            for (int64_t j = 0; j < i; j++)
                A[j] = below(a, h, i, j);
            for (int64_t x = 0; x < a->Dv; x++)
                a->u[at * a->Dv + x] = beta * a->v[at * a->Dv + x];
            for (int64_t x = 0; x < a->Dk; x++)
                a->w[at * a->Dk + x] = (beta * k[x]) * ts_exp(a->G[at]);
            substitute(a, A, h, i, a->u, a->Dv);
            substitute(a, A, h, i, a->w, a->Dk);
        }
}
