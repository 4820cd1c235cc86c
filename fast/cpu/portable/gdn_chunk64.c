#include "schedule.h"

#include <string.h>
#include "cpu/portable/elementary.h"
#include "num/real.h"

enum { CHUNK = 64, BLOCK = 32, MAX_DK = 1024 };

/* One chunk of one head: rows t .. t+L. Index i, j are rows of it, c key channels. */
typedef struct {
    const ts_gdn_args *a;
    int64_t h, kh, t, L;
    float G[CHUNK], E[CHUNK], last[CHUNK]; /* log decay, exp(G_i), exp(G_{L-1} - G_i) */
    float A[CHUNK][CHUNK], P[CHUNK][CHUNK];
    float wide[MAX_DK * CHUNK]; /* k transposed [Dk][CHUNK], later W [L][Dk] */
} chunk;

static const float *key(const chunk *w, int64_t i)
{
    return w->a->k + ((w->t + i) * w->a->Hk + w->kh) * w->a->Dk;
}

static const float *query(const chunk *w, int64_t i)
{
    return w->a->q + ((w->t + i) * w->a->Hk + w->kh) * w->a->Dk;
}

static float beta(const chunk *w, int64_t i)
{
    return w->a->beta[(w->t + i) * w->a->Hv + w->h];
}

static void decays(chunk *w)
{
    const float *g = w->a->g + w->t * w->a->Hv + w->h;
    w->G[0] = g[0];
    for (int64_t i = 1; i < w->L; i++)
        w->G[i] = w->G[i - 1] + g[i * w->a->Hv];
    for (int64_t i = 0; i < w->L; i++) {
        w->E[i] = ts_fast_exp(w->G[i]);
        w->last[i] = ts_fast_exp(w->G[w->L - 1] - w->G[i]);
    }
}

/* out_j = fl(chain_c(x_c * scale, k_jc) * D_ij) for all j at once, read at j <= i only. */
static void products(const chunk *w, int64_t i, const float *x, float scale, float *out)
{
    float acc[CHUNK] = {0};
    for (int64_t c = 0; c < w->a->Dk; c++) {
        float xc = x[c] * scale;
        for (int j = 0; j < CHUNK; j++)
            acc[j] = ts_fma(xc, w->wide[c * CHUNK + j], acc[j]);
    }
    for (int64_t j = 0; j <= i; j++)
        out[j] = acc[j] * ts_fast_exp(w->G[i] - w->G[j]);
}

/* A (read at j < i) and P (j <= i). q times 1 is q. */
static void pairs(chunk *w)
{
    for (int64_t c = 0; c < w->a->Dk; c++)
        for (int64_t j = 0; j < CHUNK; j++)
            w->wide[c * CHUNK + j] = j < w->L ? key(w, j)[c] : 0.0f;
    for (int64_t i = 0; i < w->L; i++) {
        products(w, i, key(w, i), beta(w, i), w->A[i]);
        products(w, i, query(w, i), 1.0f, w->P[i]);
    }
}

/* W by forward substitution, row i from the rows above it. */
static void keys(chunk *w)
{
    int64_t Dk = w->a->Dk;
    for (int64_t i = 0; i < w->L; i++) {
        float *row = w->wide + i * Dk;
        const float *k = key(w, i);
        float b = beta(w, i);
        for (int64_t c = 0; c < Dk; c++)
            row[c] = (b * k[c]) * w->E[i];
        for (int64_t j = 0; j < i; j++)
            for (int64_t c = 0; c < Dk; c++)
                row[c] = ts_fma(-w->A[i][j], w->wide[j * Dk + c], row[c]);
    }
}

/* V = U - W S for columns v .. v+n: U first, all of it, then the products are taken off. */
static inline void values(const chunk *w, const float *S, int64_t v, int n, float V[CHUNK][BLOCK])
{
    const ts_gdn_args *a = w->a;
    for (int64_t i = 0; i < w->L; i++) {
        const float *in = a->v + ((w->t + i) * a->Hv + w->h) * a->Dv + v;
        float b = beta(w, i), acc[BLOCK];
        for (int c = 0; c < n; c++)
            acc[c] = b * in[c];
        for (int64_t j = 0; j < i; j++)
            for (int c = 0; c < n; c++)
                acc[c] = ts_fma(-w->A[i][j], V[j][c], acc[c]);
        memcpy(V[i], acc, (size_t)n * sizeof *acc);
    }
    for (int64_t i = 0; i < w->L; i++) {
        float acc[BLOCK] = {0};
        for (int64_t k = 0; k < a->Dk; k++)
            for (int c = 0; c < n; c++)
                acc[c] = ts_fma(w->wide[i * a->Dk + k], S[k * a->Dv + c], acc[c]);
        for (int c = 0; c < n; c++)
            V[i][c] = V[i][c] - acc[c];
    }
}

static inline void outputs(const chunk *w, const float *S, int64_t v, int n, float V[CHUNK][BLOCK])
{
    const ts_gdn_args *a = w->a;
    for (int64_t i = 0; i < w->L; i++) {
        const float *q = query(w, i);
        float acc[BLOCK] = {0};
        for (int64_t k = 0; k < a->Dk; k++) {
            float qe = q[k] * w->E[i];
            for (int c = 0; c < n; c++)
                acc[c] = ts_fma(qe, S[k * a->Dv + c], acc[c]);
        }
        for (int64_t j = 0; j <= i; j++)
            for (int c = 0; c < n; c++)
                acc[c] = ts_fma(w->P[i][j], V[j][c], acc[c]);
        memcpy(a->o + ((w->t + i) * a->Hv + w->h) * a->Dv + v, acc, (size_t)n * sizeof *acc);
    }
}

static inline void advance(const chunk *w, float *S, int n, float V[CHUNK][BLOCK])
{
    int64_t Dv = w->a->Dv;
    for (int64_t k = 0; k < w->a->Dk; k++) {
        float acc[BLOCK];
        for (int c = 0; c < n; c++)
            acc[c] = S[k * Dv + c] * w->E[w->L - 1];
        for (int64_t i = 0; i < w->L; i++) {
            float ke = key(w, i)[k] * w->last[i];
            for (int c = 0; c < n; c++)
                acc[c] = ts_fma(ke, V[i][c], acc[c]);
        }
        memcpy(S + k * Dv, acc, (size_t)n * sizeof *acc);
    }
}

/* Columns v .. v+n of the state, which never meet the others. */
static inline void columns(const chunk *w, int64_t v, int n)
{
    float V[CHUNK][BLOCK];
    float *S = w->a->state + w->h * w->a->Dk * w->a->Dv + v;
    values(w, S, v, n, V);
    outputs(w, S, v, n, V);
    advance(w, S, n, V);
}

static void one_chunk(chunk *w)
{
    int64_t v = 0;
    decays(w);
    pairs(w);
    keys(w);
    for (; v + BLOCK <= w->a->Dv; v += BLOCK)
        columns(w, v, BLOCK);
    if (v < w->a->Dv)
        columns(w, v, (int)(w->a->Dv - v));
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_gdn_args *a = args;
    chunk w;
    w.a = a;
    for (w.h = begin; w.h < end; w.h++) {
        w.kh = w.h / (a->Hv / a->Hk);
        for (w.t = 0; w.t < a->T; w.t += w.L) {
            int64_t left = a->T - w.t, room = CHUNK - (a->pos + w.t) % CHUNK;
            w.L = left < room ? left : room;
            one_chunk(&w);
        }
    }
}

static bool accepts(const void *args)
{
    return ((const ts_gdn_args *)args)->Dk <= MAX_DK;
}

const ts_schedule ts_gdn_chunk64_portable = {
    .name = "gdn_chunk64.portable",
    .op = TS_OP_GDN_CHUNK64,
    .backend = "cpu",
    .shapes = "any",
    .order = "gdn-chunk64",
    .profile = "any",
    .exposes = "",
    .accepts = accepts,
    .run = run,
};
