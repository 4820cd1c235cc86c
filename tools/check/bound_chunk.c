/* Bounds of the delta rule in chunk form, the rows of one chunk from the given state. */
#include <stdlib.h>
#include <string.h>

#include "check/bound_op.h"

enum { CHUNK = TS_MOST_CHUNK, SUB = 16 };

/* What the columns of one head share. `decays` of a row: 1 of gdn_chunk, Dk of kda_chunk. */
typedef struct {
    const ts_gdn_args *a;
    const float *S; /* of this head */
    int64_t h, head, decays;
    bool two;                                /* kda_chunk_exp2 */
    ts_err *G, *E, *rest;                    /* [T,decays] */
    double *slip;                            /* [T,decays]: rounding of the sum G_{i-1} + g_i alone */
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

/* Of row i and channel ch. */
static int64_t at(const chunk *c, int64_t i, int64_t ch)
{
    return i * c->decays + ch % c->decays;
}

/* exp of an argument whose parts have sizes `a` and `b` and that has moved by `moved`. For exp2 the argument is
 * multiplied by 1/ln2: every part is rounded once more, and the constant itself is off by less than 2^-26 of it. */
static ts_err decay(const chunk *c, double v, double moved, double a, double b)
{
    if (!c->two)
        return ts_err_exp(ts_err_round(v, moved, TS_ERR_U, 0));
    const double unit = 1.4426950408889634;
    moved = (moved + TS_ERR_U * (fabs(a) + fabs(b) + 2 * moved)) * unit * TS_ERR_WIDEN + 0x1p-26 * fabs(v) * unit;
    return ts_err_exp2(ts_err_round(v * unit, moved, TS_ERR_U, 0));
}

/* exp(G_i - G_j): the roundings up to j are in both and cancel, those after j remain. */
static ts_err between(const chunk *c, int64_t i, int64_t j, int64_t ch)
{
    const double Gi = c->G[at(c, i, ch)].v, Gj = c->G[at(c, j, ch)].v;
    double moved = 0;
    for (int64_t m = j + 1; m <= i; m++)
        moved += c->slip[at(c, m, ch)];
    return decay(c, Gi - Gj, moved, Gi, Gj);
}

/* G_0 = g_0; G_i = G_{i-1} + g_i; E_i = exp(G_i); rest_i = exp(G_last - G_i) */
static void chunk_decay(chunk *c)
{
    for (int64_t i = 0; i < c->a->T; i++)
        for (int64_t ch = 0; ch < c->decays; ch++) {
            ts_err g = ts_err_exact(c->a->g[(i * c->a->Hv + c->h) * c->decays + ch]), *G = &c->G[at(c, i, ch)];
            *G = i == 0 ? g : ts_err_add(c->G[at(c, i - 1, ch)], g);
            c->slip[at(c, i, ch)] = i == 0 ? 0 : G->e - c->G[at(c, i - 1, ch)].e;
            c->E[at(c, i, ch)] = c->two ? decay(c, G->v, G->e, G->v, 0) : ts_err_exp(*G);
        }
    for (int64_t i = 0; i < c->a->T; i++)
        for (int64_t ch = 0; ch < c->decays; ch++)
            c->rest[at(c, i, ch)] = between(c, c->a->T - 1, i, ch);
}

/* A_ij = (kb_i . k_j) D_ij below the diagonal, P_ij = (q_i . k_j) D_ij up to it */
static void gdn_pair(chunk *c, int64_t i, int64_t j)
{
    ts_err kk = {0, 0}, qk = {0, 0}, D = between(c, i, j, 0);
    for (int64_t ch = 0; ch < c->a->Dk; ch++) {
        kk = ts_err_fma(gated_key(c, i, ch), key(c, c->a->k, j, ch), kk);
        qk = ts_err_fma(key(c, c->a->q, i, ch), key(c, c->a->k, j, ch), qk);
    }
    c->A[i][j] = ts_err_mul(kk, D);
    c->P[i][j] = ts_err_mul(qk, D);
}

/* The decay of every channel inside the dots, in two factors where a block of SUB rows lies between. */
static void kda_pair(chunk *c, int64_t i, int64_t j)
{
    const int64_t n = i / SUB * SUB;
    ts_err kk = {0, 0}, qk = {0, 0};
    for (int64_t ch = 0; ch < c->a->Dk; ch++) {
        ts_err ki = gated_key(c, i, ch), qi = key(c, c->a->q, i, ch);
        ts_err right = ts_err_mul(key(c, c->a->k, j, ch), between(c, j < n ? n : i, j, ch));
        if (j < n) {
            ts_err left = between(c, i, n, ch);
            ki = ts_err_mul(ki, left);
            qi = ts_err_mul(qi, left);
        }
        kk = ts_err_fma(ki, right, kk);
        qk = ts_err_fma(qi, right, qk);
    }
    c->A[i][j] = kk;
    c->P[i][j] = qk;
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
            ts_err start = ts_err_mul(gated_key(c, i, ch), c->E[at(c, i, ch)]);
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
        ts_err qE = ts_err_mul(key(c, c->a->q, i, ch), c->E[at(c, i, ch)]);
        acc = ts_err_fma(qE, ts_err_exact(c->S[ch * c->a->Dv + col]), acc);
    }
    for (int64_t j = 0; j <= i; j++)
        acc = ts_err_fma(c->P[i][j], V[j], acc);
    return acc;
}

/* S = S E_last, then + (k_i exp(G_last - G_i)) V_i, i ascending */
static ts_err column_state(const chunk *c, int64_t ch, int64_t col, const ts_err V[CHUNK])
{
    int64_t T = c->a->T;
    ts_err s = ts_err_mul(ts_err_exact(c->S[ch * c->a->Dv + col]), c->E[at(c, T - 1, ch)]);
    for (int64_t i = 0; i < T; i++)
        s = ts_err_fma(ts_err_mul(key(c, c->a->k, i, ch), c->rest[at(c, i, ch)]), V[i], s);
    return s;
}

static void chunk_head(chunk *c, bool of_state, double *bound)
{
    const ts_gdn_args *a = c->a;
    ts_err V[CHUNK];
    chunk_decay(c);
    for (int64_t i = 0; i < a->T; i++)
        for (int64_t j = 0; j <= i; j++)
            (c->decays == 1 ? gdn_pair : kda_pair)(c, i, j);
    chunk_W(c);
    for (int64_t col = 0; col < a->Dv; col++) {
        column_V(c, col, V);
        for (int64_t i = 0; i < a->T && !of_state; i++)
            bound[(i * a->Hv + c->h) * a->Dv + col] = ts_err_bound(column_o(c, i, col, V));
        for (int64_t ch = 0; ch < a->Dk && of_state; ch++)
            bound[(c->h * a->Dk + ch) * a->Dv + col] = ts_err_bound(column_state(c, ch, col, V));
    }
}

static bool allocate(chunk *c, int64_t T, int64_t Dk, int64_t decays)
{
    c->G = calloc((size_t)(T * decays), sizeof *c->G);
    c->E = calloc((size_t)(T * decays), sizeof *c->E);
    c->rest = calloc((size_t)(T * decays), sizeof *c->rest);
    c->slip = calloc((size_t)(T * decays), sizeof *c->slip);
    c->W = calloc((size_t)(T * Dk), sizeof *c->W);
    return c->G && c->E && c->rest && c->slip && c->W;
}

static void release(chunk *c)
{
    free(c->G);
    free(c->E);
    free(c->rest);
    free(c->slip);
    free(c->W);
    free(c);
}

ts_status ts_bound_chunk(const ts_gdn_args *a, ts_chunk_form form, const float *state, const char *field,
                         double *bound, ts_error *err)
{
    const int64_t length = form == TS_CHUNK_GDN64 ? 64 : a->chunk;
    if (a->T < 1 || length < 1 || length > CHUNK || a->pos % length + a->T > length)
        return ts_fail(err, TS_USAGE, NULL, field,
                       "bounded one chunk of %lld at a time: %lld rows from position %lld are not in one",
                       (long long)length, (long long)a->T, (long long)a->pos);
    chunk *c = calloc(1, sizeof *c);
    if (!c)
        return ts_no_memory(err, sizeof *c);
    c->a = a;
    c->decays = form == TS_CHUNK_KDA || form == TS_CHUNK_KDA_EXP2 ? a->Dk : 1;
    c->two = form == TS_CHUNK_KDA_EXP2;
    if (!allocate(c, a->T, a->Dk, c->decays)) {
        release(c);
        return ts_no_memory(err, (size_t)(a->T * a->Dk) * sizeof *c->W);
    }
    for (c->h = 0; c->h < a->Hv; c->h++) {
        c->S = state + c->h * a->Dk * a->Dv;
        c->head = c->h / (a->Hv / a->Hk);
        chunk_head(c, strcmp(field, "state") == 0, bound);
    }
    release(c);
    return TS_OK;
}
