/* Bounds of rows of the delta rule that are committed later: gdn_chunk's, in two halves. */
#include <stdlib.h>
#include <string.h>

#include "check/bound_op.h"

/* Of one value head. */
typedef struct {
    const ts_gdn_lazy_rows_args *a;
    int64_t h;
    ts_err *G, *A, *X; /* [T], [T,T], [T,n] */
} rows;

static ts_err key(const rows *r, int64_t i, int64_t x)
{
    const ts_gdn_lazy_rows_args *a = r->a;
    return ts_err_exact(a->k[(i * a->Hk + r->h / (a->Hv / a->Hk)) * a->Dk + x]);
}

static ts_err gated(const rows *r, int64_t i, ts_err x)
{
    return ts_err_mul(ts_err_exact(r->a->beta[i * r->a->Hv + r->h]), x);
}

/* exp(G_i - G_j), what both sums share cancelled: see bound_chunk.c */
static ts_err between(const rows *r, int64_t i, int64_t j)
{
    return ts_err_exp(ts_err_round(r->G[i].v - r->G[j].v, r->G[i].e - r->G[j].e, TS_ERR_U, 0));
}

static void products(const rows *r)
{
    for (int64_t i = 0; i < r->a->T; i++) {
        ts_err g = ts_err_exact(r->a->g[i * r->a->Hv + r->h]);
        r->G[i] = i ? ts_err_add(r->G[i - 1], g) : g;
        for (int64_t j = 0; j < i; j++) {
            ts_err kk = {0, 0};
            for (int64_t x = 0; x < r->a->Dk; x++)
                kk = ts_err_fma(gated(r, i, key(r, i, x)), key(r, j, x), kk);
            r->A[i * r->a->T + j] = ts_err_mul(kk, between(r, i, j));
        }
    }
}

/* Element x of row i of u or w, the rows before it done. */
static ts_err solved(const rows *r, bool u, int64_t i, int64_t x, int64_t n)
{
    ts_err v = ts_err_exact(u ? r->a->v[(i * r->a->Hv + r->h) * n + x] : 0);
    ts_err acc = u ? gated(r, i, v) : ts_err_mul(gated(r, i, key(r, i, x)), ts_err_exp(r->G[i]));
    for (int64_t j = 0; j < i; j++)
        acc = ts_err_fma(ts_err_neg(r->A[i * r->a->T + j]), r->X[j * n + x], acc);
    return acc;
}

static void head(const rows *r, const char *field, double *bound)
{
    const ts_gdn_lazy_rows_args *a = r->a;
    const bool u = strcmp(field, "u") == 0;
    const int64_t n = u ? a->Dv : a->Dk;
    products(r);
    for (int64_t i = 0; i < a->T && strcmp(field, "G") == 0; i++)
        bound[i * a->Hv + r->h] = ts_err_bound(r->G[i]);
    for (int64_t i = 0; i < a->T && strcmp(field, "G") != 0; i++)
        for (int64_t x = 0; x < n; x++) {
            r->X[i * n + x] = solved(r, u, i, x, n);
            bound[(i * a->Hv + r->h) * n + x] = ts_err_bound(r->X[i * n + x]);
        }
}

ts_status ts_bound_gdn_lazy_rows(const ts_gdn_lazy_rows_args *a, const char *field, double *bound, ts_error *err)
{
    const int64_t widest = a->Dk > a->Dv ? a->Dk : a->Dv;
    rows r = {a, 0, calloc((size_t)a->T, sizeof *r.G), calloc((size_t)(a->T * a->T), sizeof *r.A),
              calloc((size_t)(a->T * widest), sizeof *r.X)};
    bool ok = r.G && r.A && r.X;
    for (; ok && r.h < a->Hv; r.h++)
        head(&r, field, bound);
    free(r.G);
    free(r.A);
    free(r.X);
    return ok ? TS_OK : ts_no_memory(err, (size_t)(a->T * widest) * sizeof *r.X);
}

static void commit_column(const ts_gdn_lazy_commit_args *a, const float *S, int64_t h, int64_t j, double *bound)
{
    const int64_t kh = h / (a->Hv / a->Hk);
    ts_err V[TS_MOST_CHUNK], last = ts_err_exact(a->G[(a->kept - 1) * a->Hv + h]);
    for (int64_t i = 0; i < a->kept; i++) {
        ts_err wS = {0, 0};
        for (int64_t x = 0; x < a->Dk; x++)
            wS = ts_err_fma(ts_err_exact(a->w[(i * a->Hv + h) * a->Dk + x]), ts_err_exact(S[x * a->Dv + j]), wS);
        V[i] = ts_err_sub(ts_err_exact(a->u[(i * a->Hv + h) * a->Dv + j]), wS);
    }
    for (int64_t x = 0; x < a->Dk; x++) {
        ts_err s = ts_err_mul(ts_err_exact(S[x * a->Dv + j]), ts_err_exp(last));
        for (int64_t i = 0; i < a->kept; i++) {
            ts_err rest = ts_err_exp(ts_err_sub(last, ts_err_exact(a->G[i * a->Hv + h])));
            s = ts_err_fma(ts_err_mul(ts_err_exact(a->k[(i * a->Hk + kh) * a->Dk + x]), rest), V[i], s);
        }
        bound[x * a->Dv + j] = ts_err_bound(s);
    }
}

void ts_bound_gdn_lazy_commit(const ts_gdn_lazy_commit_args *a, const float *state, double *bound)
{
    const int64_t n = a->Dk * a->Dv;
    for (int64_t i = 0; i < a->Hv * n; i++)
        bound[i] = 0;
    for (int64_t h = 0; a->kept > 0 && h < a->Hv; h++)
        for (int64_t j = 0; j < a->Dv; j++)
            commit_column(a, state + h * n, h, j, bound + h * n);
}
