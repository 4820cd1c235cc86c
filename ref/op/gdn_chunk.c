#include <string.h>

#include "lanes.h"
#include "op.h"

/* Channels and columns are taken BLOCK at a time, each with its own chain, so that local arrays suffice for any Dk
 * and Dv: it is no part of the definition. */
enum { CHUNK = TS_MOST_CHUNK, BLOCK = 64 };

/* What one chunk of one value head knows before it meets the state. */
typedef struct {
    int64_t t0, L, h;        /* first token, rows, value head */
    ts_real E[CHUNK];        /* exp(G_i): decay from the chunk's start to row i */
    ts_real rest[CHUNK];     /* exp(G_{L-1} - G_i): from row i to its end */
    ts_real A[CHUNK][CHUNK]; /* j < i */
    ts_real P[CHUNK][CHUNK]; /* j <= i */
} chunk;

static const ts_real *key_row(const ts_gdn_args *a, const ts_real *x, const chunk *c, int64_t i)
{
    return x + ((c->t0 + i) * a->Hk + c->h / (a->Hv / a->Hk)) * a->Dk;
}

static int64_t value_row(const ts_gdn_args *a, const chunk *c, int64_t i)
{
    return (c->t0 + i) * a->Hv + c->h;
}

/* A_ij = (beta_i k_i . k_j) D_ij,  P_ij = (q_i . k_j) D_ij,  D_ij = exp(G_i - G_j), only where j <= i:
 * above the diagonal D would overflow. */
static void prepare(const ts_gdn_args *a, chunk *c)
{
    ts_real G[CHUNK];
    for (int64_t i = 0; i < c->L; i++) {
        ts_real g = a->g[value_row(a, c, i)];
        G[i] = i ? G[i - 1] + g : g;
        c->E[i] = ts_exp(G[i]);
    }
    for (int64_t i = 0; i < c->L; i++) {
        const ts_real *ki = key_row(a, a->k, c, i), *qi = key_row(a, a->q, c, i);
        const ts_real beta = a->beta[value_row(a, c, i)];
        c->rest[i] = ts_exp(G[c->L - 1] - G[i]);
        for (int64_t j = 0; j <= i; j++) {
            const ts_real *kj = key_row(a, a->k, c, j);
            ts_real D = ts_exp(G[i] - G[j]), kk = 0, qk = 0;
            for (int64_t x = 0; x < a->Dk; x++) {
                kk = ts_fma(beta * ki[x], kj[x], kk);
                qk = ts_fma(qi[x], kj[x], qk);
            }
            c->A[i][j] = kk * D;
            c->P[i][j] = qk * D;
        }
    }
}

/* X <- (I + A)^-1 X by forward substitution: X_i = X_i - sum_{j<i} A_ij X_j. X [L][n] */
static void substitute(const chunk *c, ts_real X[CHUNK][BLOCK], int64_t n)
{
    for (int64_t i = 0; i < c->L; i++)
        for (int64_t j = 0; j < i; j++)
            for (int64_t x = 0; x < n; x++)
                X[i][x] = ts_fma(-c->A[i][j], X[j][x], X[i][x]);
}

/* V_i = U_i - W_i S,  U = (I + A)^-1 (beta v),  W = (I + A)^-1 (beta k E). S: columns of the state. */
static void corrections(const ts_gdn_args *a, const chunk *c, const ts_real *S, int64_t j0, int64_t n,
                        ts_real V[CHUNK][BLOCK])
{
    ts_real W[CHUNK][BLOCK], WS[CHUNK][BLOCK];
    memset(WS, 0, (size_t)c->L * sizeof *WS);
    for (int64_t i = 0; i < c->L; i++)
        for (int64_t j = 0; j < n; j++)
            V[i][j] = a->beta[value_row(a, c, i)] * a->v[value_row(a, c, i) * a->Dv + j0 + j];
    substitute(c, V, n);
    for (int64_t x0 = 0; x0 < a->Dk; x0 += BLOCK) {
        int64_t m = ts_piece(a->Dk - x0, BLOCK);
        for (int64_t i = 0; i < c->L; i++)
            for (int64_t x = 0; x < m; x++)
                W[i][x] = (a->beta[value_row(a, c, i)] * key_row(a, a->k, c, i)[x0 + x]) * c->E[i];
        substitute(c, W, m);
        for (int64_t i = 0; i < c->L; i++)
            for (int64_t x = 0; x < m; x++)
                for (int64_t j = 0; j < n; j++)
                    WS[i][j] = ts_fma(W[i][x], S[(x0 + x) * a->Dv + j], WS[i][j]);
    }
    for (int64_t i = 0; i < c->L; i++)
        for (int64_t j = 0; j < n; j++)
            V[i][j] = V[i][j] - WS[i][j];
}

/* o_i = (q_i E_i) S + sum_{j<=i} P_ij V_j, with the state as it was before the chunk. */
static void outputs(const ts_gdn_args *a, const chunk *c, const ts_real *S, int64_t j0, int64_t n,
                    ts_real V[CHUNK][BLOCK])
{
    for (int64_t i = 0; i < c->L; i++) {
        const ts_real *q = key_row(a, a->q, c, i);
        ts_real o[BLOCK] = {0};
        for (int64_t x = 0; x < a->Dk; x++)
            for (int64_t j = 0; j < n; j++)
                o[j] = ts_fma(q[x] * c->E[i], S[x * a->Dv + j], o[j]);
        for (int64_t r = 0; r <= i; r++)
            for (int64_t j = 0; j < n; j++)
                o[j] = ts_fma(c->P[i][r], V[r][j], o[j]);
        for (int64_t j = 0; j < n; j++)
            a->o[value_row(a, c, i) * a->Dv + j0 + j] = o[j];
    }
}

/* S = E_{L-1} S + sum_i (k_i exp(G_{L-1} - G_i)) V_i */
static void carry(const ts_gdn_args *a, const chunk *c, ts_real *S, int64_t n, ts_real V[CHUNK][BLOCK])
{
    for (int64_t x = 0; x < a->Dk; x++) {
        ts_real *row = S + x * a->Dv;
        for (int64_t j = 0; j < n; j++)
            row[j] = row[j] * c->E[c->L - 1];
        for (int64_t i = 0; i < c->L; i++) {
            ts_real k = key_row(a, a->k, c, i)[x] * c->rest[i];
            for (int64_t j = 0; j < n; j++)
                row[j] = ts_fma(k, V[i][j], row[j]);
        }
    }
}

/* The gated delta rule of gdn_step in its chunk form: the same function of the same arguments (shapes
 * there), another order for every length `chunk`, 1 to 256. Chunks end at absolute positions (pos + t) that are
 * multiples of it, so cutting a prompt there changes no bit; a first or last chunk may have fewer rows and is not
 * padded. The equations stand over the functions above, in the order they run.
 *
 * Rounded: G_i = G_{i-1} + g_i and the differences under exp; beta k (per channel, before the dot with
 * k_j), beta v, (beta k) E, q E, k exp(G_{L-1} - G_i); the products with D; every fma of every chain
 * (ascending; sums over channels start at +0, substitution starts at its right-hand side, o goes on from
 * its sum over channels); U - W S; the decay of S. g > 0, NaN and infinities: as in gdn_step. */
void ts_gdn_chunk(const ts_gdn_args *a)
{
    for (int64_t h = 0; h < a->Hv; h++) {
        chunk c = {.h = h};
        for (c.t0 = 0; c.t0 < a->T; c.t0 += c.L) {
            c.L = ts_piece(a->T - c.t0, a->chunk - (a->pos + c.t0) % a->chunk);
            prepare(a, &c);
            for (int64_t j = 0; j < a->Dv; j += BLOCK) {
                ts_real V[CHUNK][BLOCK], *S = a->state + h * a->Dk * a->Dv + j;
                int64_t n = ts_piece(a->Dv - j, BLOCK);
                corrections(a, &c, S, j, n, V);
                outputs(a, &c, S, j, n, V);
                carry(a, &c, S, n, V);
            }
        }
    }
}
