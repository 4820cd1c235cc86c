/* The body of gdn_chunk64.c of every isa, whose header comes first. All work is products of small matrices, in
 * tiles of R rows by C vectors that stay in registers. What a tile reads is copied into arrays padded with zeros: a
 * padded row or column is computed and not stored. */
#include <string.h>
#include "cpu/vector/elementary.h"

/* With constants for C: only so do the loops over it unroll, and the accumulators become registers. */
#define UNROLLED static inline __attribute__((always_inline))

enum { CHUNK = 64, MAX_DK = 256, R = 4, C = VEC / 4, WIDE = C * VEC, PAIRS = 2 };

/* One chunk of one head: rows t .. t+L. Index i, j are rows of it, c key channels. */
typedef struct {
    const ts_gdn_args *a;
    int64_t h, kh, t, L, rows;                 /* rows: L and the padding */
    float G[CHUNK], E[CHUNK], last[CHUNK];     /* log decay, exp(G_i), exp(G_{L-1} - G_i) */
    float A[CHUNK][CHUNK], P[CHUNK][CHUNK];    /* A: its negative, as the chains want it */
    float W[CHUNK][MAX_DK], q[CHUNK][MAX_DK];  /* beta k, then W; q, then q E */
    float k[CHUNK][MAX_DK], kt[MAX_DK][CHUNK]; /* k last; k transposed */
    float S[MAX_DK][WIDE], V[CHUNK][WIDE];     /* some columns of the state; U, then V */
} chunk;

/* acc = chain, continued, over n products of x (a row every `row`, the next factor every `next`) and rows of y. */
UNROLLED void tile(vec *acc, const float *x, int64_t row, int64_t next, const float *y, int64_t y_row, int64_t n,
                   int cols)
{
    for (int64_t k = 0; k < n; k++, x += next, y += y_row)
        for (int r = 0; r < R; r++)
            for (int c = 0; c < cols; c++)
                acc[r * cols + c] = v_fma(v_all(x[r * row]), v_load(y + c * VEC), acc[r * cols + c]);
}

static void decays(chunk *w)
{
    const ts_gdn_args *a = w->a;
    const float *g = a->g + w->t * a->Hv + w->h;
    memset(w->G, 0, sizeof w->G);
    w->G[0] = g[0];
    for (int64_t i = 1; i < w->L; i++)
        w->G[i] = w->G[i - 1] + g[i * a->Hv];
    vec end = v_all(w->G[w->L - 1]);
    for (int i = 0; i < CHUNK; i += VEC) {
        vec G = v_load(w->G + i);
        v_store(w->E + i, v_exp(G));
        v_store(w->last + i, v_exp(v_sub(end, G)));
    }
}

/* The chunk's keys and queries, padded. */
static void fill(chunk *w)
{
    const ts_gdn_args *a = w->a;
    int64_t Dk = a->Dk, padded = (Dk + WIDE - 1) / WIDE * WIDE;
    for (int64_t i = 0; i < w->rows; i++) {
        int64_t at = ((w->t + i) * a->Hk + w->kh) * Dk, n = i < w->L ? Dk : 0;
        float beta = n ? a->beta[(w->t + i) * a->Hv + w->h] : 0.0f;
        for (int64_t c = 0; c < n; c++) {
            float k = a->k[at + c];
            w->W[i][c] = beta * k;
            w->q[i][c] = a->q[at + c];
            w->k[i][c] = k * w->last[i];
        }
        for (int64_t c = n; c < padded; c++)
            w->W[i][c] = w->q[i][c] = w->k[i][c] = 0.0f;
    }
    for (int64_t c = 0; c < Dk; c++)
        for (int64_t j = 0; j < CHUNK; j++)
            w->kt[c][j] = j < w->L ? a->k[((w->t + j) * a->Hk + w->kh) * Dk + c] : 0.0f;
}

/* out_ij = fl(chain_c(x_ic, k_jc) * exp(G_i - G_j)) for R rows and all j up to the last of them; those beyond the
 * diagonal are not used. */
static inline void pair_rows(const chunk *w, int64_t i, float x[][MAX_DK], float out[][CHUNK], int negative)
{
    for (int64_t j = 0; j < i + R; j += PAIRS * VEC) {
        vec acc[R * PAIRS];
        for (int e = 0; e < R * PAIRS; e++)
            acc[e] = v_all(0.0f);
        tile(acc, x[i], MAX_DK, 1, &w->kt[0][j], CHUNK, w->a->Dk, PAIRS);
        for (int r = 0; r < R; r++)
            for (int c = 0; c < PAIRS; c++) {
                vec decay = v_exp(v_sub(v_all(w->G[i + r]), v_load(w->G + j + c * VEC)));
                vec y = v_mul(acc[r * PAIRS + c], decay);
                v_store(out[i + r] + j + c * VEC, negative ? v_negate(y) : y);
            }
    }
}

/* Forward substitution in place: row i of x takes A_ij times the rows j above it. C vectors from a column on. */
static inline void substitute(const chunk *w, float *x, int64_t x_row)
{
    for (int64_t i = 0; i < w->rows; i += R) {
        vec acc[R * C];
        for (int e = 0; e < R * C; e++)
            acc[e] = v_load(x + (i + e / C) * x_row + e % C * VEC);
        tile(acc, w->A[i], CHUNK, 1, x, x_row, i, C);
        for (int r = 1; r < R; r++)
            for (int j = 0; j < r; j++)
                for (int c = 0; c < C; c++)
                    acc[r * C + c] = v_fma(v_all(w->A[i + r][i + j]), acc[j * C + c], acc[r * C + c]);
        for (int e = 0; e < R * C; e++)
            v_store(x + (i + e / C) * x_row + e % C * VEC, acc[e]);
    }
}

/* A and P, then W, and q E. */
static void keys(chunk *w)
{
    for (int64_t i = 0; i < w->rows; i += R) {
        pair_rows(w, i, w->W, w->A, 1);
        pair_rows(w, i, w->q, w->P, 0);
    }
    for (int64_t i = 0; i < w->rows; i++)
        for (int64_t c = 0; c < w->a->Dk; c++) {
            w->W[i][c] = w->W[i][c] * w->E[i];
            w->q[i][c] = w->q[i][c] * w->E[i];
        }
    for (int64_t c = 0; c < w->a->Dk; c += WIDE)
        substitute(w, w->W[0] + c, MAX_DK);
}

/* Columns v .. v+n of the state and of beta v, padded. */
static void load_columns(chunk *w, int64_t v, int64_t n)
{
    const ts_gdn_args *a = w->a;
    const float *S = a->state + w->h * a->Dk * a->Dv + v;
    for (int64_t c = 0; c < a->Dk; c++)
        for (int64_t e = 0; e < WIDE; e += VEC)
            v_store(w->S[c] + e, v_load_some(S + c * a->Dv + e, v_first(n - e)));
    for (int64_t c = a->Dk; c % R != 0; c++)
        memset(w->S[c], 0, sizeof w->S[c]);
    for (int64_t i = 0; i < w->rows; i++) {
        int64_t row = (w->t + i) * a->Hv + w->h, left = i < w->L ? n : 0;
        vec beta = v_all(i < w->L ? a->beta[row] : 0.0f);
        for (int64_t e = 0; e < WIDE; e += VEC)
            v_store(w->V[i] + e,
                    left ? v_mul(beta, v_load_some(a->v + row * a->Dv + v + e, v_first(left - e))) : v_all(0.0f));
    }
}

/* V = U - W S */
static void values(chunk *w)
{
    substitute(w, w->V[0], WIDE);
    for (int64_t i = 0; i < w->rows; i += R) {
        vec acc[R * C];
        for (int e = 0; e < R * C; e++)
            acc[e] = v_all(0.0f);
        tile(acc, w->W[i], MAX_DK, 1, w->S[0], WIDE, w->a->Dk, C);
        for (int e = 0; e < R * C; e++) {
            float *V = w->V[i + e / C] + e % C * VEC;
            v_store(V, v_sub(v_load(V), acc[e]));
        }
    }
}

static void outputs(const chunk *w, int64_t v, int64_t n)
{
    const ts_gdn_args *a = w->a;
    for (int64_t i = 0; i < w->L; i += R) {
        vec acc[R * C];
        for (int e = 0; e < R * C; e++)
            acc[e] = v_all(0.0f);
        tile(acc, w->q[i], MAX_DK, 1, w->S[0], WIDE, a->Dk, C);
        tile(acc, w->P[i], CHUNK, 1, w->V[0], WIDE, i, C);
        for (int r = 0; r < R; r++)
            for (int j = 0; j <= r; j++)
                for (int c = 0; c < C; c++)
                    acc[r * C + c] = v_fma(v_all(w->P[i + r][i + j]), v_load(w->V[i + j] + c * VEC),
                                           acc[r * C + c]);
        for (int r = 0; r < R; r++)
            for (int c = 0; c < C && i + r < w->L; c++)
                v_store_some(a->o + ((w->t + i + r) * a->Hv + w->h) * a->Dv + v + c * VEC, v_first(n - c * VEC),
                             acc[r * C + c]);
    }
}

/* The state behind the chunk. */
static void advance(const chunk *w, int64_t v, int64_t n)
{
    const ts_gdn_args *a = w->a;
    float *S = a->state + w->h * a->Dk * a->Dv + v;
    vec decay = v_all(w->E[w->L - 1]);
    for (int64_t k = 0; k < a->Dk; k += R) {
        vec acc[R * C];
        for (int e = 0; e < R * C; e++)
            acc[e] = v_mul(v_load(w->S[k + e / C] + e % C * VEC), decay);
        tile(acc, w->k[0] + k, 1, MAX_DK, w->V[0], WIDE, w->L, C);
        for (int r = 0; r < R; r++)
            for (int c = 0; c < C && k + r < a->Dk; c++)
                v_store_some(S + (k + r) * a->Dv + c * VEC, v_first(n - c * VEC), acc[r * C + c]);
    }
}

static void one_chunk(chunk *w)
{
    decays(w);
    fill(w);
    keys(w);
    for (int64_t v = 0; v < w->a->Dv; v += WIDE) {
        int64_t n = w->a->Dv - v < WIDE ? w->a->Dv - v : WIDE;
        load_columns(w, v, n);
        values(w);
        outputs(w, v, n);
        advance(w, v, n);
    }
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_gdn_args *a = args;
    _Alignas(64) chunk w;
    w.a = a;
    for (w.h = begin; w.h < end; w.h++) {
        w.kh = w.h / (a->Hv / a->Hk);
        for (w.t = 0; w.t < a->T; w.t += w.L) {
            int64_t left = a->T - w.t, room = CHUNK - (a->pos + w.t) % CHUNK;
            w.L = left < room ? left : room;
            w.rows = (w.L + R - 1) / R * R;
            one_chunk(&w);
        }
    }
}

static bool accepts(const void *args)
{
    return ((const ts_gdn_args *)args)->Dk <= MAX_DK;
}
