/* The body of gdn_step.c of every isa, whose header comes first. A block of columns stays in the L1 cache over all
 * tokens: for each, S decays and p is taken in one pass over it, S is updated and o taken in another, which is also
 * the next token's first. */
#include "cpu/vector/elementary.h"

enum { COLUMNS = 4 }; /* vectors in a block: as many chains hide the latency of one */

typedef struct {
    const ts_gdn_args *a;
    int64_t h, kh, j; /* value head, its key head, first column */
    vmask last;       /* of the last vector */
} block;

static inline float decay(const block *b, int64_t t)
{
    float y[VEC];
    v_store(y, v_exp(v_all(b->a->g[t * b->a->Hv + b->h])));
    return y[0];
}

static inline vec load(const float *p, int c, int n, vmask last)
{
    return c + 1 < n ? v_load(p + c * VEC) : v_load_some(p + c * VEC, last);
}

static inline void store(float *p, int c, int n, vmask last, vec x)
{
    if (c + 1 < n)
        v_store(p + c * VEC, x);
    else
        v_store_some(p + c * VEC, last, x);
}

/* S = fl(S decay), p = chain of k S */
static inline void first_pass(const block *b, float *S, const float *k, int n, vec *p)
{
    vec f = v_all(decay(b, 0)), s[COLUMNS];
    for (int c = 0; c < n; c++)
        p[c] = v_all(0.0f);
    for (int64_t i = 0; i < b->a->Dk; i++, S += b->a->Dv)
        for (int c = 0; c < n; c++) {
            s[c] = v_mul(load(S, c, n, b->last), f);
            store(S, c, n, b->last, s[c]);
            p[c] = v_fma(v_all(k[i]), s[c], p[c]);
        }
}

/* S = fma(k, d, S), o = chain of q S; with `more` tokens behind: S = fl(S decay), p = chain of their k S. */
static inline void pass(const block *b, float *S, int64_t t, int n, int more, const vec *d, vec *o, vec *p)
{
    const ts_gdn_args *a = b->a;
    const float *q = a->q + (t * a->Hk + b->kh) * a->Dk, *k = a->k + (t * a->Hk + b->kh) * a->Dk;
    const float *next = more ? k + a->Hk * a->Dk : k;
    vec f = v_all(more ? decay(b, t + 1) : 1.0f);
    for (int c = 0; c < n; c++)
        o[c] = p[c] = v_all(0.0f);
    for (int64_t i = 0; i < a->Dk; i++, S += a->Dv)
        for (int c = 0; c < n; c++) {
            vec s = v_fma(v_all(k[i]), d[c], load(S, c, n, b->last));
            o[c] = v_fma(v_all(q[i]), s, o[c]);
            if (more) {
                s = v_mul(s, f);
                p[c] = v_fma(v_all(next[i]), s, p[c]);
            }
            store(S, c, n, b->last, s);
        }
}

/* All tokens for n vectors of columns, the last of them with b->last only. */
static inline void columns(const block *b, int n)
{
    const ts_gdn_args *a = b->a;
    float *S = a->state + b->h * a->Dk * a->Dv + b->j;
    vec p[COLUMNS], d[COLUMNS], o[COLUMNS];
    first_pass(b, S, a->k + b->kh * a->Dk, n, p);
    for (int64_t t = 0; t < a->T; t++) {
        const float *v = a->v + (t * a->Hv + b->h) * a->Dv + b->j;
        vec beta = v_all(a->beta[t * a->Hv + b->h]);
        for (int c = 0; c < n; c++)
            d[c] = v_mul(v_sub(load(v, c, n, b->last), p[c]), beta);
        if (t + 1 < a->T)
            pass(b, S, t, n, 1, d, o, p);
        else
            pass(b, S, t, n, 0, d, o, p);
        for (int c = 0; c < n; c++)
            store(a->o + (t * a->Hv + b->h) * a->Dv + b->j, c, n, b->last, o[c]);
    }
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_gdn_args *a = args;
    block b = {.a = a};
    for (b.h = begin; b.h < end && a->T > 0; b.h++) {
        b.kh = b.h / (a->Hv / a->Hk);
        b.last = v_first(VEC);
        for (b.j = 0; b.j + COLUMNS * VEC <= a->Dv; b.j += COLUMNS * VEC)
            columns(&b, COLUMNS);
        for (; b.j < a->Dv; b.j += VEC) {
            b.last = v_first(a->Dv - b.j);
            columns(&b, 1);
        }
    }
}
