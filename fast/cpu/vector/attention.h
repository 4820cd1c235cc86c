/* The body of attention.c of every isa, whose header comes first. Keys and values are read once for all rows (a
 * row: one token's query in one head) of a group that share a kv head. The merge needs the maximum over all
 * partitions before it can add the first: a first sweep over the keys makes and keeps the weights, a second one
 * adds the values. Without memory to keep them in, they are made again: the same bits. */
#include <stdlib.h>
#include <string.h>
#include "cpu/vector/dot32.h"
#include "cpu/vector/softmax.h"

/* With constants for R, n, K and C: only so do the loops over them unroll, and the accumulators become registers.
 */
#define UNROLLED static inline __attribute__((always_inline))

enum { PART = 128, ROWS = 8, BLOCKS = 4, MAX_D = 1024, CHUNK = 32, AHEAD = 16, LINE = 64 };

/* The weights of a block's rows in one partition. Row r sees the keys from[r] <= i < to[r] of it. */
typedef struct {
    int from[ROWS], to[ROWS];
    int lo, all_from, all_to, hi; /* lo .. hi: keys that some row sees; all_from .. all_to: that every row does */
    float m[ROWS], l[ROWS], w[ROWS][PART];
} part;

/* Rows that go through the vector units together: R of them, the last ones perhaps copies of the first. */
typedef struct {
    int rows, R;
    int64_t t[ROWS], h[ROWS];
    float M[ROWS], L[ROWS], g[ROWS];
    float q[ROWS * MAX_D]; /* [chunk of 32 channels][R][32] */
    part slot;             /* where weights go that are not kept */
} block;

typedef struct {
    const ts_attention_args *a;
    int64_t kvh, end;     /* no row sees a key from here on */
    int64_t at[2 * PART]; /* offset in the pools of each key of this partition and the next */
    part *kept;           /* [BLOCKS][parts] or NULL */
    int blocks;
    block block[BLOCKS];
} group;

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Offsets of n keys from key j on; past the last key, its own. */
static void locate_some(const group *g, int64_t j, int64_t *at, int n)
{
    const ts_attention_args *a = g->a;
    const ts_kv *kv = &a->kv;
    int64_t last = j < g->end ? 0 : j - g->end + 1, page = (j - last) / kv->page, in = (j - last) % kv->page;
    int64_t next = 0;
    for (int i = 0; i < n; i++) {
        if (i == 0 || in == kv->page) {
            page += i > 0;
            in = i > 0 ? 0 : in;
            next = ((kv->table[page] * a->Hkv + g->kvh) * kv->page + in) * a->D;
        }
        at[i] = next;
        if (j + i + 1 < g->end) {
            next += a->D;
            in++;
        }
    }
}

/* Offsets of the keys of partition p and the next. */
static void locate(group *g, int64_t p)
{
    if (p > 0)
        memcpy(g->at, g->at + PART, PART * sizeof *g->at);
    else
        locate_some(g, 0, g->at, PART);
    locate_some(g, PART * (p + 1), g->at + PART, PART);
}

UNROLLED vec load(const void *pool, int64_t at, int dtype)
{
    return dtype == TS_KV_BF16  ? v_load_bf16((const uint16_t *)pool + at)
           : dtype == TS_KV_F16 ? v_load_f16((const uint16_t *)pool + at)
                                : v_load((const float *)pool + at);
}

UNROLLED vec load_some(const void *pool, int64_t at, vmask m, int dtype)
{
    return dtype == TS_KV_BF16  ? v_load_some_bf16((const uint16_t *)pool + at, m)
           : dtype == TS_KV_F16 ? v_load_some_f16((const uint16_t *)pool + at, m)
                                : v_load_some((const float *)pool + at, m);
}

UNROLLED int64_t size_of(int dtype)
{
    return dtype == TS_KV_REAL ? 4 : 2;
}

/* Fetches what lies `bytes` long at an offset. */
UNROLLED void fetch(const void *pool, int64_t at, int64_t bytes, int dtype)
{
    const char *from = (const char *)pool + at * size_of(dtype);
    for (int64_t i = 0; i < bytes; i += LINE)
        v_prefetch(from + i);
}

/* Whole chunks of one strip: n of R rows x and K keys, whose chains s stay in registers. Returns where they end. */
UNROLLED int64_t chunks(const void *k, const float *x, const int64_t *at, int strip, int64_t D, int R, int n, int K,
                        int dtype, vec s[DOTS][2])
{
    int64_t c = strip * VEC;
    for (; c + 16 + VEC <= D; c += CHUNK, x += R * CHUNK)
        for (int i = 0; i < K; i++) {
            vec lo = load(k, at[i] + c, dtype), hi = load(k, at[i] + c + 16, dtype);
            if (strip == 0)
                fetch(k, at[i + AHEAD] + c, CHUNK * size_of(dtype), dtype);
            for (int r = 0; r < n; r++) {
                s[i * n + r][0] = v_fma(v_load(x + r * CHUNK), lo, s[i * n + r][0]);
                s[i * n + r][1] = v_fma(v_load(x + r * CHUNK + 16), hi, s[i * n + r][1]);
            }
        }
    return c;
}

/* The strip's last chunk, if channels are left in it. */
UNROLLED void rest(const void *k, const float *x, const int64_t *at, int64_t c, int64_t D, int n, int K, int dtype,
                   vec s[DOTS][2])
{
    vmask m = v_first(D - c), m16 = v_first(D - c - 16);
    for (int i = 0; i < K && c < D; i++) {
        vec lo = load_some(k, at[i] + c, m, dtype);
        vec hi = D > c + 16 ? load_some(k, at[i] + c + 16, m16, dtype) : v_all(0.0f);
        for (int r = 0; r < n; r++) {
            s[i * n + r][0] = v_fma_some(m, v_load(x + r * CHUNK), lo, s[i * n + r][0]);
            s[i * n + r][1] = v_fma_some(m16, v_load(x + r * CHUNK + 16), hi, s[i * n + r][1]);
        }
    }
}

/* out[i * n + r] = row r of n (laid out for R) times key i of K, in order dot32: strip by strip, one tree for all.
 */
UNROLLED void dots(const void *k, const float *q, const int64_t *at, int64_t D, int R, int n, int K, int dtype,
                   float *out)
{
    vec t[DOTS][STRIPS];
    for (int strip = 0; strip < STRIPS; strip++) {
        vec s[DOTS][2];
        for (int i = 0; i < DOTS; i++)
            s[i][0] = s[i][1] = v_all(0.0f);
        const float *x = q + strip * VEC;
        int64_t c = chunks(k, x, at, strip, D, R, n, K, dtype, s);
        if (c < D)
            rest(k, x + c / CHUNK * R * CHUNK, at, c, D, n, K, dtype, s);
        for (int i = 0; i < DOTS; i++)
            t[i][strip] = v_add(s[i][0], s[i][1]);
    }
    v_trees(t, out);
}

/* Scores of all R rows for the keys lo <= i < hi; those that a row does not see are not used. */
UNROLLED void score(const group *g, const block *b, part *w, int R, int dtype)
{
    const int n = R > DOTS ? R / 2 : R, K = DOTS / n;
    const float scale = (float)g->a->scale;
    for (int i = w->lo; i < w->hi; i += K) {
        const int64_t *at = g->at + i;
        float out[DOTS];
        for (int r0 = 0; r0 < R; r0 += n) {
            dots(g->a->kv.k, b->q + r0 * CHUNK, at, g->a->D, R, n, K, dtype, out);
            for (int k = 0; k < K && i + k < w->hi; k++)
                for (int r = 0; r < n; r++)
                    w->w[r0 + r][i + k] = out[k * n + r] * scale;
        }
    }
}

static inline void score_rows(const group *g, const block *b, part *w, int dtype)
{
    switch (b->R) {
    case 1:
        score(g, b, w, 1, dtype);
        break;
    case 2:
        score(g, b, w, 2, dtype);
        break;
    case 4:
        score(g, b, w, 4, dtype);
        break;
    case 6:
        score(g, b, w, 6, dtype);
        break;
    default:
        score(g, b, w, ROWS, dtype);
    }
}

/* Each row's sum is a chain; the chains of n rows go side by side where they can. */
static inline void sums(part *w, int r0, int n)
{
    float l[ROWS] = {0};
    for (int r = 0; r < n; r++)
        l[r] = sum(0.0f, w->w[r0 + r], w->from[r0 + r], w->to[r0 + r] < w->all_from ? w->to[r0 + r] : w->all_from);
    for (int i = w->all_from; i < w->all_to; i++)
        for (int r = 0; r < n; r++)
            l[r] += w->w[r0 + r][i];
    for (int r = r0; r < r0 + n; r++)
        w->l[r] = sum(l[r - r0], w->w[r], w->from[r] > w->all_to ? w->from[r] : w->all_to, w->to[r]);
}

/* Which keys of partition p the rows see. */
static void visible(const group *g, const block *b, int64_t p, part *w)
{
    const ts_attention_args *a = g->a;
    w->lo = w->all_to = PART;
    w->hi = w->all_from = 0;
    for (int r = 0; r < b->R; r++) {
        int64_t pos = a->pos[b->t[r]], end = least(least(a->len[b->t[r]], pos + 1) - PART * p, PART);
        int64_t first = a->window > 0 ? pos - a->window + 1 - PART * p : 0;
        w->from[r] = first < 0 ? 0 : (int)least(first, PART);
        w->to[r] = end > w->from[r] ? (int)end : w->from[r];
        w->all_from = w->from[r] > w->all_from ? w->from[r] : w->all_from;
        w->all_to = w->to[r] < w->all_to ? w->to[r] : w->all_to;
        if (w->from[r] == w->to[r])
            continue;
        w->lo = w->from[r] < w->lo ? w->from[r] : w->lo;
        w->hi = w->to[r] > w->hi ? w->to[r] : w->hi;
    }
    if (w->all_to <= w->all_from)
        w->all_from = w->all_to = w->hi;
}

/* The weights of a block in partition p. */
static void weigh(const group *g, const block *b, int64_t p, part *w)
{
    visible(g, b, p, w);
    if (g->a->kv.dtype == TS_KV_BF16)
        score_rows(g, b, w, TS_KV_BF16);
    else if (g->a->kv.dtype == TS_KV_F16)
        score_rows(g, b, w, TS_KV_F16);
    else
        score_rows(g, b, w, TS_KV_REAL);
    for (int r = 0; r < b->R; r++) {
        float *s = w->w[r] + w->from[r];
        w->m[r] = largest(s, w->to[r] - w->from[r]);
        exponentials(s, w->to[r] - w->from[r], w->m[r]);
    }
    int r = 0;
    for (; r + 4 <= b->R; r += 4)
        sums(w, r, 4);
    for (; r < b->R; r++)
        sums(w, r, 1);
}

/* The next partition's values line by line, as they lie in memory, though this one's are read by columns. */
typedef struct {
    const int64_t *at, *end; /* of the key whose line is next; behind the last key's */
    int64_t line, row;       /* bytes */
} ahead;

UNROLLED void fetch_next(const void *pool, ahead *n, int64_t bytes, int dtype)
{
    for (int64_t i = 0; i < bytes && n->at < n->end; i += LINE) {
        v_prefetch((const char *)pool + *n->at * size_of(dtype) + n->line);
        n->line += LINE;
        if (n->line >= n->row) {
            n->line = 0;
            n->at++;
        }
    }
}

/* acc = chain over keys i .. end, for rows that see them all, or the rows that do. */
UNROLLED void chain(const group *g, const part *w, int64_t c, vmask m, int i, int end, int R, int C, int whole,
                    int all, int dtype, ahead *next, vec *acc)
{
    const void *v = g->a->kv.v;
    for (; i < end; i++) {
        vec x[ROWS];
        if (all)
            fetch_next(v, next, C * VEC * size_of(dtype), dtype);
        for (int k = 0; k < C; k++)
            x[k] = whole ? load(v, g->at[i] + c + k * VEC, dtype) : load_some(v, g->at[i] + c, m, dtype);
        for (int r = 0; r < R; r++)
            if (all || (w->from[r] <= i && i < w->to[r]))
                for (int k = 0; k < C; k++)
                    acc[r * C + k] = v_fma(v_all(w->w[r][i]), x[k], acc[r * C + k]);
    }
}

/* C vectors of channels of a partition, from c on, join the outputs; unless `whole`, C is 1 and has the lanes of m.
 */
UNROLLED void join(const group *g, const block *b, const part *w, int64_t p, int64_t c, vmask m, int R, int C,
                   int whole, int dtype, ahead *next)
{
    const ts_attention_args *a = g->a;
    vec acc[ACCUMULATORS];
    for (int i = 0; i < R * C; i++)
        acc[i] = v_all(0.0f);
    chain(g, w, c, m, w->lo, w->all_from, R, C, whole, 0, dtype, next, acc);
    chain(g, w, c, m, w->all_from, w->all_to, R, C, whole, 1, dtype, next, acc);
    chain(g, w, c, m, w->all_to, w->hi, R, C, whole, 0, dtype, next, acc);
    for (int r = 0; r < R; r++) {
        int64_t row = b->t[r] * a->Hq + b->h[r];
        for (int k = 0; k < C && r < b->rows; k++) {
            float *o = a->o + row * a->D + c + k * VEC;
            if (a->acc)
                v_store_some(a->acc + (row * a->parts + p) * a->D + c + k * VEC, m, acc[r * C + k]);
            if (w->l[r] != 0.0f)
                v_store_some(o, m, v_fma(v_all(b->g[r]), acc[r * C + k], v_load_some(o, m)));
        }
    }
}

UNROLLED void values(const group *g, const block *b, const part *w, int64_t p, int R, int dtype)
{
    const int C = ACCUMULATORS / R > 8 ? 8 : ACCUMULATORS / R;
    const int64_t D = g->a->D;
    ahead next = {g->at + PART, g->at + 2 * PART, 0, D * size_of(dtype)};
    int64_t c = 0;
    for (; c + C * VEC <= D; c += C * VEC)
        join(g, b, w, p, c, v_first(VEC), R, C, 1, dtype, &next);
    for (; c < D; c += VEC)
        join(g, b, w, p, c, v_first(D - c), R, 1, 0, dtype, &next);
}

static inline void values_rows(const group *g, const block *b, const part *w, int64_t p, int dtype)
{
    switch (b->R) {
    case 1:
        values(g, b, w, p, 1, dtype);
        break;
    case 2:
        values(g, b, w, p, 2, dtype);
        break;
    case 4:
        values(g, b, w, p, 4, dtype);
        break;
    case 6:
        values(g, b, w, p, 6, dtype);
        break;
    default:
        values(g, b, w, p, ROWS, dtype);
    }
}

/* A block's partition p joins the merge, and is shown where the caller gave room. */
static void add(const group *g, block *b, const part *w, int64_t p)
{
    const ts_attention_args *a = g->a;
    for (int r = 0; r < b->rows; r++) {
        int64_t at = (b->t[r] * a->Hq + b->h[r]) * a->parts + p;
        if (a->m)
            a->m[at] = w->m[r];
        if (a->l)
            a->l[at] = w->l[r];
        if (w->l[r] == 0.0f)
            continue;
        b->g[r] = exponential(w->m[r] - b->M[r]);
        b->L[r] = ts_fma(b->g[r], w->l[r], b->L[r]);
    }
    if (a->kv.dtype == TS_KV_BF16)
        values_rows(g, b, w, p, TS_KV_BF16);
    else if (a->kv.dtype == TS_KV_F16)
        values_rows(g, b, w, p, TS_KV_F16);
    else
        values_rows(g, b, w, p, TS_KV_REAL);
}

/* Where the weights of block i in partition p are, or are to be. */
static part *slot(group *g, int i, int64_t p)
{
    return g->kept ? &g->kept[i * g->a->parts + p] : &g->block[i].slot;
}

/* The weights of all partitions, and the maximum over those that have a key. */
static void first_sweep(group *g)
{
    for (int64_t p = 0; p < g->a->parts; p++) {
        locate(g, p);
        for (int i = 0; i < g->blocks; i++) {
            block *b = &g->block[i];
            part *w = slot(g, i, p);
            weigh(g, b, p, w);
            for (int r = 0; r < b->rows; r++)
                b->M[r] = w->l[r] != 0.0f && w->m[r] > b->M[r] ? w->m[r] : b->M[r];
        }
    }
}

static void second_sweep(group *g)
{
    for (int64_t p = 0; p < g->a->parts; p++) {
        locate(g, p);
        for (int i = 0; i < g->blocks; i++) {
            if (!g->kept)
                weigh(g, &g->block[i], p, slot(g, i, p));
            add(g, &g->block[i], slot(g, i, p), p);
        }
    }
}

/* Fills a block up to a number of rows that there is code for, and lays out its queries. */
static void prepare(const group *g, block *b)
{
    const ts_attention_args *a = g->a;
    b->R = b->rows + (b->rows > 2 && b->rows % 2);
    for (int r = 0; r < b->R; r++) {
        int from = r < b->rows ? r : 0;
        b->t[r] = b->t[from];
        b->h[r] = b->h[from];
        b->M[r] = -INFINITY;
        b->L[r] = 0.0f;
        const float *q = a->q + (b->t[r] * a->Hq + b->h[r]) * a->D;
        for (int64_t c = 0; c < a->D; c += CHUNK) {
            float *to = b->q + (c / CHUNK * b->R + r) * CHUNK;
            memset(to, 0, CHUNK * sizeof *to);
            memcpy(to, q + c, (size_t)least(a->D - c, CHUNK) * sizeof *to);
        }
    }
}

/* The group's rows; afterwards it is empty. */
static void attend(group *g)
{
    const ts_attention_args *a = g->a;
    for (int i = 0; i < g->blocks; i++) {
        prepare(g, &g->block[i]);
        for (int r = 0; r < g->block[i].rows; r++)
            memset(a->o + (g->block[i].t[r] * a->Hq + g->block[i].h[r]) * a->D, 0, (size_t)a->D * sizeof *a->o);
    }
    first_sweep(g);
    second_sweep(g);
    for (int i = 0; i < g->blocks; i++)
        for (int r = 0; r < g->block[i].rows; r++) {
            float L = g->block[i].L[r], *o = a->o + (g->block[i].t[r] * a->Hq + g->block[i].h[r]) * a->D;
            for (int64_t c = 0; c < a->D && L != 0.0f; c++)
                o[c] = o[c] / L;
        }
    g->blocks = 0;
    g->end = 0;
}

static void enter(group *g, int64_t t, int64_t h)
{
    const ts_attention_args *a = g->a;
    block *b = &g->block[g->blocks ? g->blocks - 1 : 0];
    if (g->blocks == 0 || b->rows == ROWS) {
        b = &g->block[g->blocks++];
        b->rows = 0;
    }
    b->t[b->rows] = t;
    b->h[b->rows++] = h;
    int64_t end = least(a->len[t], (int64_t)a->pos[t] + 1);
    g->end = end > g->end ? end : g->end;
    if (g->blocks == BLOCKS && b->rows == ROWS)
        attend(g);
}

static void run(const void *args, int64_t begin, int64_t end)
{
    group g;
    g.a = args;
    g.blocks = 0;
    g.end = 0;
    const int64_t Hq = g.a->Hq, share = Hq / g.a->Hkv;
    int64_t blocks = least(BLOCKS, (end - begin + ROWS - 1) / ROWS);
    g.kept = malloc((size_t)blocks * (size_t)g.a->parts * sizeof *g.kept);
    for (g.kvh = 0; g.kvh < g.a->Hkv; g.kvh++) {
        for (int64_t t = begin / Hq; t * Hq < end; t++)
            for (int64_t h = g.kvh * share; h < (g.kvh + 1) * share; h++)
                if (begin <= t * Hq + h && t * Hq + h < end)
                    enter(&g, t, h);
        if (g.blocks)
            attend(&g);
    }
    free(g.kept);
}

static bool accepts(const void *args)
{
    const ts_attention_args *a = args;
    return a->D <= MAX_D && a->kv.dtype <= TS_KV_F16;
}
