/* Bounds of the gated delta rule, one step or one chunk from the given state. */
#include <stdlib.h>
#include <string.h>

#include "check/bound_op.h"

enum { CHUNK = 64 };

/* Element i of column j of the state of one head after the decay. */
static ts_err decayed(const float *S, const ts_gdn_args *a, int64_t i, int64_t j, ts_err decay)
{
    return ts_err_mul(ts_err_exact(S[i * a->Dv + j]), decay);
}

/* Column j of value head h: new_state[i * Dv] for every i, and o. Returns o. */
static ts_err step_column(const ts_gdn_args *a, const float *S, int64_t h, int64_t j, double *new_state)
{
    int64_t head = h / (a->Hv / a->Hk);
    const float *q = a->q + head * a->Dk, *k = a->k + head * a->Dk;
    ts_err decay = ts_err_exp(ts_err_exact(a->g[h])), p = {0, 0}, o = {0, 0};
    for (int64_t i = 0; i < a->Dk; i++)
        p = ts_err_fma(ts_err_exact(k[i]), decayed(S, a, i, j, decay), p);
    ts_err v = ts_err_exact(a->v[h * a->Dv + j]);
    ts_err d = ts_err_mul(ts_err_sub(v, p), ts_err_exact(a->beta[h]));
    for (int64_t i = 0; i < a->Dk; i++) {
        ts_err s = ts_err_fma(ts_err_exact(k[i]), d, decayed(S, a, i, j, decay));
        o = ts_err_fma(ts_err_exact(q[i]), s, o);
        if (new_state)
            new_state[i * a->Dv] = ts_err_bound(s);
    }
    return o;
}

ts_status ts_bound_gdn_step(const ts_gdn_args *a, const float *state, const char *field, double *bound,
                            ts_error *err)
{
    if (a->T != 1)
        return ts_fail(err, TS_USAGE, NULL, field, "gdn_step is bounded one token at a time, not %lld",
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

/* What the columns of one head share. */
typedef struct {
    const ts_gdn_args *a;
    const float *S; /* of this head */
    int64_t h, head;
    ts_err G[CHUNK], E[CHUNK];
    double slip[CHUNK];                      /* rounding of the sum G_{i-1} + g_i alone */
    ts_err A[CHUNK][CHUNK], P[CHUNK][CHUNK]; /* j < i; j <= i */
    ts_err *W;                               /* [T,Dk] */
} chunk;

static ts_err beta(const chunk *c, int64_t i)
{
    return ts_err_exact(c->a->beta[i * c->a->Hv + c->h]);
}

static ts_err key(const chunk *c, const float *rows, int64_t i, int64_t ch)
{
    return ts_err_exact(rows[(i * c->a->Hk + c->head) * c->a->Dk + ch]);
}

static ts_err gated_key(const chunk *c, int64_t i, int64_t ch)
{
    return ts_err_mul(beta(c, i), key(c, c->a->k, i, ch));
}

/* G_0 = g_0; G_i = G_{i-1} + g_i; E = exp(G) */
static void chunk_decay(chunk *c)
{
    for (int64_t i = 0; i < c->a->T; i++) {
        ts_err g = ts_err_exact(c->a->g[i * c->a->Hv + c->h]);
        c->G[i] = i == 0 ? g : ts_err_add(c->G[i - 1], g);
        c->slip[i] = i == 0 ? 0 : c->G[i].e - c->G[i - 1].e;
        c->E[i] = ts_err_exp(c->G[i]);
    }
}

/* exp(G_i - G_j): the roundings up to j are in both and cancel, those after j remain. */
static ts_err between(const chunk *c, int64_t i, int64_t j)
{
    double moved = 0;
    for (int64_t m = j + 1; m <= i; m++)
        moved += c->slip[m];
    return ts_err_exp(ts_err_round(c->G[i].v - c->G[j].v, moved, TS_ERR_U, 0));
}

/* A_ij = (kb_i . k_j) D_ij below the diagonal, P_ij = (q_i . k_j) D_ij up to it */
static void chunk_products(chunk *c)
{
    for (int64_t i = 0; i < c->a->T; i++)
        for (int64_t j = 0; j <= i; j++) {
            ts_err kk = {0, 0}, qk = {0, 0}, D = between(c, i, j);
            for (int64_t ch = 0; ch < c->a->Dk; ch++) {
                kk = ts_err_fma(gated_key(c, i, ch), key(c, c->a->k, j, ch), kk);
                qk = ts_err_fma(key(c, c->a->q, i, ch), key(c, c->a->k, j, ch), qk);
            }
            c->A[i][j] = ts_err_mul(kk, D);
            c->P[i][j] = ts_err_mul(qk, D);
        }
}

/* Row i of the substitution: acc = fma(-A_ij, X_j, acc), j ascending */
static ts_err substitute(const chunk *c, int64_t i, ts_err acc, const ts_err *X, int64_t stride)
{
    for (int64_t j = 0; j < i; j++)
        acc = ts_err_fma(ts_err_neg(c->A[i][j]), X[j * stride], acc);
    return acc;
}

static void chunk_W(chunk *c)
{
    for (int64_t i = 0; i < c->a->T; i++)
        for (int64_t ch = 0; ch < c->a->Dk; ch++) {
            ts_err start = ts_err_mul(gated_key(c, i, ch), c->E[i]);
            c->W[i * c->a->Dk + ch] = substitute(c, i, start, c->W + ch, c->a->Dk);
        }
}

/* V of column col: V_i = U_i - W_i . S */
static void column_V(const chunk *c, int64_t col, ts_err V[CHUNK])
{
    const ts_gdn_args *a = c->a;
    ts_err U[CHUNK];
    for (int64_t i = 0; i < a->T; i++) {
        ts_err v = ts_err_exact(a->v[(i * a->Hv + c->h) * a->Dv + col]), WS = {0, 0};
        U[i] = substitute(c, i, ts_err_mul(beta(c, i), v), U, 1);
        for (int64_t ch = 0; ch < a->Dk; ch++)
            WS = ts_err_fma(c->W[i * a->Dk + ch], ts_err_exact(c->S[ch * a->Dv + col]), WS);
        V[i] = ts_err_sub(U[i], WS);
    }
}

/* o_i = (q_i E_i) . S, continued with P_ij V_j, j <= i */
static ts_err column_o(const chunk *c, int64_t i, int64_t col, const ts_err V[CHUNK])
{
    ts_err acc = {0, 0};
    for (int64_t ch = 0; ch < c->a->Dk; ch++) {
        ts_err qE = ts_err_mul(key(c, c->a->q, i, ch), c->E[i]);
        acc = ts_err_fma(qE, ts_err_exact(c->S[ch * c->a->Dv + col]), acc);
    }
    for (int64_t j = 0; j <= i; j++)
        acc = ts_err_fma(c->P[i][j], V[j], acc);
    return acc;
}

/* S = S E_last, then + (k_i exp(G_last - G_i)) V_i, i ascending */
static ts_err column_state(const chunk *c, int64_t ch, int64_t col, const ts_err V[CHUNK], const ts_err rest[CHUNK])
{
    int64_t T = c->a->T;
    ts_err s = ts_err_mul(ts_err_exact(c->S[ch * c->a->Dv + col]), c->E[T - 1]);
    for (int64_t i = 0; i < T; i++)
        s = ts_err_fma(ts_err_mul(key(c, c->a->k, i, ch), rest[i]), V[i], s);
    return s;
}

static void chunk_head(chunk *c, bool of_state, double *bound)
{
    const ts_gdn_args *a = c->a;
    ts_err V[CHUNK], rest[CHUNK];
    chunk_decay(c);
    chunk_products(c);
    chunk_W(c);
    for (int64_t i = 0; i < a->T; i++)
        rest[i] = between(c, a->T - 1, i);
    for (int64_t col = 0; col < a->Dv; col++) {
        column_V(c, col, V);
        for (int64_t i = 0; i < a->T && !of_state; i++)
            bound[(i * a->Hv + c->h) * a->Dv + col] = ts_err_bound(column_o(c, i, col, V));
        for (int64_t ch = 0; ch < a->Dk && of_state; ch++)
            bound[(c->h * a->Dk + ch) * a->Dv + col] = ts_err_bound(column_state(c, ch, col, V, rest));
    }
}

ts_status ts_bound_gdn_chunk64(const ts_gdn_args *a, const float *state, const char *field, double *bound,
                               ts_error *err)
{
    if (a->T < 1 || a->pos % CHUNK + a->T > CHUNK)
        return ts_fail(err, TS_USAGE, NULL, field,
                       "gdn_chunk64 is bounded one chunk at a time: %lld rows from position %lld "
                       "are not in one",
                       (long long)a->T, (long long)a->pos);
    chunk *c = malloc(sizeof *c);
    ts_err *W = calloc((size_t)(a->T * a->Dk), sizeof *W);
    if (!c || !W) {
        free(c);
        free(W);
        return ts_no_memory(err, sizeof *c + (size_t)(a->T * a->Dk) * sizeof *W);
    }
    for (int64_t h = 0; h < a->Hv; h++) {
        c->a = a;
        c->S = state + h * a->Dk * a->Dv;
        c->h = h;
        c->head = h / (a->Hv / a->Hk);
        c->W = W;
        chunk_head(c, strcmp(field, "state") == 0, bound);
    }
    free(W);
    free(c);
    return TS_OK;
}
