/* Kimi Delta Attention in its chunk form, for any exponential: kda_chunk and kda_chunk_exp2 say which.
 *
 * With a decay per channel no factor can leave the dots of keys, and exp(-G) alone overflows. So a chunk is cut
 * into blocks of SUB rows, and the dot of row i with an earlier row j is, n being the first row of i's block,
 *
 *   - in one block: sum_d x_id (k_jd exp(G_id - G_jd))
 *   - across blocks: sum_d (x_id exp(G_id - G_nd)) (k_jd exp(G_nd - G_jd))
 *
 * For gates <= 0 no exponent is ever positive, however strong they are. */
#ifndef TS_OP_KDA_CHUNK_H
#define TS_OP_KDA_CHUNK_H

#include <stdbool.h>
#include <string.h>

#include "lanes.h"
#include "op.h"

enum { TS_KDA_SUB = 16, TS_KDA_BLOCK = 64 };

typedef ts_real ts_kda_rows[TS_MOST_CHUNK][TS_KDA_BLOCK];

/* One chunk of one value head. Channels come in blocks: m of them from x0 on, whose G is at hand. */
typedef struct {
    ts_real (*exp)(ts_real);
    ts_real unit; /* exp(unit sum of g) is the decay */
    const ts_gdn_args *a;
    int64_t t0, L, h; /* first token, rows, value head */
    int64_t x0, m;
    ts_kda_rows G;                           /* unit times the sum of g from the chunk's start to each row */
    ts_real A[TS_MOST_CHUNK][TS_MOST_CHUNK]; /* j < i */
    ts_real P[TS_MOST_CHUNK][TS_MOST_CHUNK]; /* j <= i */
    ts_kda_rows V;                           /* corrections of the columns at hand */
} ts_kda_part;

static inline const ts_real *ts_kda_key(const ts_kda_part *c, const ts_real *x, int64_t i)
{
    return x + ((c->t0 + i) * c->a->Hk + c->h / (c->a->Hv / c->a->Hk)) * c->a->Dk + c->x0;
}

static inline int64_t ts_kda_row(const ts_kda_part *c, int64_t i)
{
    return (c->t0 + i) * c->a->Hv + c->h;
}

/* G_i = unit (G_{i-1} + g_i). Returns false past the last channel. */
static inline bool ts_kda_channels(ts_kda_part *c, int64_t x0)
{
    const int64_t Dk = c->a->Dk;
    c->x0 = x0;
    c->m = ts_piece(Dk - x0, TS_KDA_BLOCK);
    for (int64_t x = 0; x < c->m; x++) {
        ts_real G = 0;
        for (int64_t i = 0; i < c->L; i++) {
            ts_real g = c->a->g[ts_kda_row(c, i) * Dk + x0 + x];
            G = i ? G + g : g;
            c->G[i][x] = G * c->unit;
        }
    }
    return c->m > 0;
}

/* A_ij = sum_d (beta_i k_id) k_jd decay, P_ij = sum_d q_id k_jd decay, factored as said above: the channels at
 * hand. */
static inline void ts_kda_pair(ts_kda_part *c, int64_t i, int64_t j)
{
    const int64_t n = i / TS_KDA_SUB * TS_KDA_SUB;
    const ts_real *ki = ts_kda_key(c, c->a->k, i), *qi = ts_kda_key(c, c->a->q, i), *kj = ts_kda_key(c, c->a->k, j);
    const ts_real beta = c->a->beta[ts_kda_row(c, i)];
    for (int64_t x = 0; x < c->m; x++) {
        ts_real left = 1, right = kj[x];
        if (j < n) {
            left = c->exp(c->G[i][x] - c->G[n][x]);
            right *= c->exp(c->G[n][x] - c->G[j][x]);
        } else {
            right *= c->exp(c->G[i][x] - c->G[j][x]);
        }
        c->A[i][j] = ts_fma((beta * ki[x]) * left, right, c->A[i][j]);
        c->P[i][j] = ts_fma(qi[x] * left, right, c->P[i][j]);
    }
}

static inline void ts_kda_pairs(ts_kda_part *c)
{
    memset(c->A, 0, sizeof c->A);
    memset(c->P, 0, sizeof c->P);
    for (int64_t x0 = 0; ts_kda_channels(c, x0); x0 += TS_KDA_BLOCK)
        for (int64_t i = 0; i < c->L; i++)
            for (int64_t j = 0; j <= i; j++)
                ts_kda_pair(c, i, j);
}

/* X <- (I + A)^-1 X by forward substitution. X [L][n] */
static inline void ts_kda_substitute(const ts_kda_part *c, ts_kda_rows X, int64_t n)
{
    for (int64_t i = 0; i < c->L; i++)
        for (int64_t j = 0; j < i; j++)
            for (int64_t x = 0; x < n; x++)
                X[i][x] = ts_fma(-c->A[i][j], X[j][x], X[i][x]);
}

/* V = U - W S,  U = (I + A)^-1 (beta v),  W = (I + A)^-1 (beta k exp(G)). Columns j0 .. j0+n-1. */
static inline void ts_kda_corrections(ts_kda_part *c, const ts_real *S, int64_t j0, int64_t n)
{
    const ts_gdn_args *a = c->a;
    ts_kda_rows W, WS;
    memset(WS, 0, (size_t)c->L * sizeof *WS);
    for (int64_t i = 0; i < c->L; i++)
        for (int64_t j = 0; j < n; j++)
            c->V[i][j] = a->beta[ts_kda_row(c, i)] * a->v[ts_kda_row(c, i) * a->Dv + j0 + j];
    ts_kda_substitute(c, c->V, n);
    for (int64_t x0 = 0; ts_kda_channels(c, x0); x0 += TS_KDA_BLOCK) {
        for (int64_t i = 0; i < c->L; i++)
            for (int64_t x = 0; x < c->m; x++)
                W[i][x] = (a->beta[ts_kda_row(c, i)] * ts_kda_key(c, a->k, i)[x]) * c->exp(c->G[i][x]);
        ts_kda_substitute(c, W, c->m);
        for (int64_t i = 0; i < c->L; i++)
            for (int64_t x = 0; x < c->m; x++)
                for (int64_t j = 0; j < n; j++)
                    WS[i][j] = ts_fma(W[i][x], S[(x0 + x) * a->Dv + j], WS[i][j]);
    }
    for (int64_t i = 0; i < c->L; i++)
        for (int64_t j = 0; j < n; j++)
            c->V[i][j] = c->V[i][j] - WS[i][j];
}

/* o_i = (q_i exp(G_i)) S + sum_{j<=i} P_ij V_j, with the state as it was before the chunk. */
static inline void ts_kda_outputs(ts_kda_part *c, const ts_real *S, int64_t j0, int64_t n)
{
    const ts_gdn_args *a = c->a;
    ts_kda_rows o;
    memset(o, 0, (size_t)c->L * sizeof *o);
    for (int64_t x0 = 0; ts_kda_channels(c, x0); x0 += TS_KDA_BLOCK)
        for (int64_t i = 0; i < c->L; i++)
            for (int64_t x = 0; x < c->m; x++) {
                const ts_real left = ts_kda_key(c, a->q, i)[x] * c->exp(c->G[i][x]);
                for (int64_t j = 0; j < n; j++)
                    o[i][j] = ts_fma(left, S[(x0 + x) * a->Dv + j], o[i][j]);
            }
    for (int64_t i = 0; i < c->L; i++) {
        for (int64_t r = 0; r <= i; r++)
            for (int64_t j = 0; j < n; j++)
                o[i][j] = ts_fma(c->P[i][r], c->V[r][j], o[i][j]);
        memcpy(a->o + ts_kda_row(c, i) * a->Dv + j0, o[i], (size_t)n * sizeof(ts_real));
    }
}

/* S = exp(G_{L-1}) S + sum_i (k_i exp(G_{L-1} - G_i)) V_i */
static inline void ts_kda_carry(ts_kda_part *c, ts_real *S, int64_t n)
{
    const ts_gdn_args *a = c->a;
    for (int64_t x0 = 0; ts_kda_channels(c, x0); x0 += TS_KDA_BLOCK)
        for (int64_t x = 0; x < c->m; x++) {
            ts_real *row = S + (x0 + x) * a->Dv, last = c->G[c->L - 1][x], decay = c->exp(last);
            for (int64_t j = 0; j < n; j++)
                row[j] = row[j] * decay;
            for (int64_t i = 0; i < c->L; i++) {
                ts_real k = ts_kda_key(c, a->k, i)[x] * c->exp(last - c->G[i][x]);
                for (int64_t j = 0; j < n; j++)
                    row[j] = ts_fma(k, c->V[i][j], row[j]);
            }
        }
}

static inline void ts_kda_one(ts_kda_part *c)
{
    const ts_gdn_args *a = c->a;
    ts_kda_pairs(c);
    for (int64_t j = 0; j < a->Dv; j += TS_KDA_BLOCK) {
        ts_real *S = a->state + c->h * a->Dk * a->Dv + j;
        int64_t n = ts_piece(a->Dv - j, TS_KDA_BLOCK);
        ts_kda_corrections(c, S, j, n);
        ts_kda_outputs(c, S, j, n);
        ts_kda_carry(c, S, n);
    }
}

static inline void ts_kda_chunks(const ts_gdn_args *a, ts_real (*exp)(ts_real), ts_real unit)
{
    for (int64_t h = 0; h < a->Hv; h++) {
        ts_kda_part c = {.exp = exp, .unit = unit, .a = a, .h = h};
        for (c.t0 = 0; c.t0 < a->T; c.t0 += c.L) {
            c.L = ts_piece(a->T - c.t0, a->chunk - (a->pos + c.t0) % a->chunk);
            ts_kda_one(&c);
        }
    }
}

#endif
