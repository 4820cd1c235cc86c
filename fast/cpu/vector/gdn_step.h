/* The body of gdn_step.c of every isa, whose header comes first. A block of columns is read from the state once and
 * written once: over all tokens it lies in a tile of the L1 cache (in the state, rows are so far apart that they
 * would share a few of its sets). One token alone takes whole rows where it can, as they lie in memory: what counts
 * is how the state streams through, and L2 holds it between the two passes. For each token, S decays and p is taken
 * in one pass over it, S is updated and o taken in another, which is also the next token's first. */
#include <stdbool.h>
#include "cpu/vector/elementary.h"

/* Vectors and floats in a block, vectors in one for a single token, floats in a line. */
enum { COLUMNS = 4, WIDE = COLUMNS * VEC, ROW = VEC == 16 ? 8 : 4, MAX_DK = 128, LINE = 16 };

/* Columns j .. j+width of value head h, which reads key head kh. */
typedef struct {
    const ts_gdn_args *a;
    int64_t h, kh, j, width;
    const float *next; /* the block after it, or itself */
    float *tile;       /* rows of WIDE */
} block;

/* One way through all rows: S is read from one place and written to another. */
typedef struct {
    const float *from, *ahead;
    float *to;
    int64_t from_row, to_row, rows, ahead_row;
} sweep;

/* Lanes of vector c: all, or of a block of one those it has. */
static inline vec load(const float *p, int c, int n, vmask last)
{
    return n > 1 ? v_load(p + c * VEC) : v_load_some(p + c * VEC, last);
}

static inline void store(float *p, int c, int n, vmask last, vec x)
{
    if (n > 1)
        v_store(p + c * VEC, x);
    else
        v_store_some(p + c * VEC, last, x);
}

/* Half of the next block's row of n vectors: the other half comes with the other pass. */
TS_INLINE void fetch(const float *row, int n)
{
    for (int i = 0; i < n * VEC / 2; i += LINE)
        v_prefetch(row + i);
}

/* S = fl(S decay), p = chain of k S */
static inline void decay_pass(sweep s, const float *k, vec decay, int n, vmask last, vec *p)
{
    for (int c = 0; c < n; c++)
        p[c] = v_all(0.0f);
    for (int64_t i = 0; i < s.rows; i++, s.from += s.from_row, s.to += s.to_row, s.ahead += s.ahead_row) {
        fetch(s.ahead, n);
        for (int c = 0; c < n; c++) {
            vec x = v_mul(load(s.from, c, n, last), decay);
            store(s.to, c, n, last, x);
            p[c] = v_fma(v_all(k[i]), x, p[c]);
        }
    }
}

/* S = fma(k, d, S), o = chain of q S */
static inline void update_pass(sweep s, const float *q, const float *k, int n, vmask last, const vec *d, vec *o)
{
    for (int c = 0; c < n; c++)
        o[c] = v_all(0.0f);
    for (int64_t i = 0; i < s.rows; i++, s.from += s.from_row, s.to += s.to_row, s.ahead += s.ahead_row) {
        fetch(s.ahead + n * VEC / 2, n);
        for (int c = 0; c < n; c++) {
            vec x = v_fma(v_all(k[i]), d[c], load(s.from, c, n, last));
            o[c] = v_fma(v_all(q[i]), x, o[c]);
            store(s.to, c, n, last, x);
        }
    }
}

/* The update of one token and the decay of the next, whose keys are `next`. */
static inline void both(sweep s, const float *q, const float *k, const float *next, vec decay, int n, vmask last,
                        const vec *d, vec *o, vec *p)
{
    for (int c = 0; c < n; c++)
        o[c] = p[c] = v_all(0.0f);
    for (int64_t i = 0; i < s.rows; i++, s.from += s.from_row, s.to += s.to_row)
        for (int c = 0; c < n; c++) {
            vec x = v_fma(v_all(k[i]), d[c], load(s.from, c, n, last));
            o[c] = v_fma(v_all(q[i]), x, o[c]);
            x = v_mul(x, decay);
            p[c] = v_fma(v_all(next[i]), x, p[c]);
            store(s.to, c, n, last, x);
        }
}

/* All tokens of a block of n vectors. */
static inline void columns(const block *b, int n)
{
    const ts_gdn_args *a = b->a;
    const vmask last = v_first(b->width - (n - 1) * VEC);
    const int64_t T = a->T, Dk = a->Dk, Dv = a->Dv, keys = a->Hk * Dk;
    const float *q = a->q + b->kh * Dk, *k = a->k + b->kh * Dk, *g = a->g + b->h, *beta = a->beta + b->h;
    float *S = a->state + b->h * Dk * Dv + b->j;
    const bool fits = Dk <= MAX_DK;
    float *tile = fits ? b->tile : S;
    const int64_t row = fits ? WIDE : Dv;
    vec p[COLUMNS], d[COLUMNS], o[COLUMNS];
    decay_pass((sweep){S, b->next, tile, Dv, row, Dk, Dv}, k, v_exp(v_all(g[0])), n, last, p);
    for (int64_t t = 0; t < T; t++, q += keys, k += keys) {
        int64_t at = (t * a->Hv + b->h) * Dv + b->j;
        for (int c = 0; c < n; c++)
            d[c] = v_mul(v_sub(load(a->v + at, c, n, last), p[c]), v_all(beta[t * a->Hv]));
        if (t + 1 < T)
            both((sweep){tile, tile, tile, row, row, Dk, 0}, q, k, k + keys, v_exp(v_all(g[(t + 1) * a->Hv])), n,
                 last, d, o, p);
        else
            update_pass((sweep){tile, b->next, S, row, Dv, Dk, Dv}, q, k, n, last, d, o);
        for (int c = 0; c < n; c++)
            store(a->o + at, c, n, last, o[c]);
    }
}

/* One token's n vectors. The decayed state is not kept between the passes: to make it again costs less than to
 * write it. */
static inline void once(const block *b, int n)
{
    const ts_gdn_args *a = b->a;
    const vmask last = v_first(b->width - (n - 1) * VEC);
    const int64_t Dk = a->Dk, Dv = a->Dv, at = b->h * Dv + b->j;
    const float *q = a->q + b->kh * Dk, *k = a->k + b->kh * Dk, *ahead = b->next;
    float *S = a->state + b->h * Dk * Dv + b->j;
    const vec decay = v_exp(v_all(a->g[b->h]));
    vec p[ROW], o[ROW];
    for (int c = 0; c < n; c++)
        p[c] = o[c] = v_all(0.0f);
    for (int64_t i = 0; i < Dk; i++) {
        fetch(ahead + i * Dv, n);
        for (int c = 0; c < n; c++)
            p[c] = v_fma(v_all(k[i]), v_mul(load(S + i * Dv, c, n, last), decay), p[c]);
    }
    for (int c = 0; c < n; c++)
        p[c] = v_mul(v_sub(load(a->v + at, c, n, last), p[c]), v_all(a->beta[b->h])); /* d now */
    for (int64_t i = 0; i < Dk; i++) {
        fetch(ahead + i * Dv + n * VEC / 2, n);
        for (int c = 0; c < n; c++) {
            vec x = v_fma(v_all(k[i]), p[c], v_mul(load(S + i * Dv, c, n, last), decay));
            o[c] = v_fma(v_all(q[i]), x, o[c]);
            store(S + i * Dv, c, n, last, x);
        }
    }
    for (int c = 0; c < n; c++)
        store(a->o + at, c, n, last, o[c]);
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_gdn_args *a = args;
    _Alignas(64) float tile[MAX_DK * WIDE];
    block b = {.a = a, .tile = tile};
    const int64_t wide = a->T == 1 && a->Dv % (ROW * VEC) == 0 ? ROW * VEC : WIDE;
    for (b.h = begin; b.h < end && a->T > 0; b.h++) {
        b.kh = b.h / (a->Hv / a->Hk);
        for (b.j = 0; b.j < a->Dv; b.j += b.width) {
            const float *S = a->state + b.h * a->Dk * a->Dv + b.j;
            int64_t left = a->Dv - b.j;
            b.width = left >= wide ? wide : left < VEC ? left : VEC;
            b.next = left - b.width >= wide ? S + b.width : b.h + 1 < end ? S - b.j + a->Dk * a->Dv : S;
            if (a->T == 1 && b.width == ROW * VEC)
                once(&b, ROW);
            else if (a->T == 1 && b.width == WIDE)
                once(&b, COLUMNS);
            else if (a->T == 1)
                once(&b, 1);
            else if (b.width == WIDE)
                columns(&b, COLUMNS);
            else
                columns(&b, 1);
        }
    }
}
