/* What attention goes through together: blocks of rows that share a kv head, the keys' places, loads of any dtype.
 */
#ifndef TS_FAST_VECTOR_ATTENTION_BLOCK_H
#define TS_FAST_VECTOR_ATTENTION_BLOCK_H

#include <stdint.h>
#include <string.h>

/* With constants for R, n, K and C: only so do the loops over them unroll, and the accumulators become registers.
 */
#define UNROLLED static inline __attribute__((always_inline))

enum { PART = 128, ROWS = 8, BLOCKS = 4, MAX_D = 1024, CHUNK = 32, RUN = 8, LINE = 64 };

/* The weights of a block's rows in one partition. Row r sees the keys from[r] <= i < to[r] of it. */
typedef struct {
    int from[ROWS], to[ROWS];
    int lo, all_from, all_to, hi; /* lo .. hi: keys that some row sees; all_from .. all_to: that every row does */
    int scored;                   /* up to this key */
    float m[ROWS], l[ROWS], w[ROWS][PART];
} part;

/* Rows that go through the vector units together: R of them, the last ones perhaps copies of the first. */
typedef struct {
    int rows, R;
    int64_t head; /* of the kv head: what it adds to an offset in the pools */
    int64_t t[ROWS], h[ROWS];
    float M[ROWS], L[ROWS], g[ROWS];
    _Alignas(LINE) float q[ROWS * MAX_D];   /* [chunk of 32 channels][R][32] */
    _Alignas(LINE) float acc[ROWS * MAX_D]; /* [R][D rounded up to VEC] of one partition */
    part slot;                              /* where weights go that are not kept */
} block;

typedef struct {
    const ts_attention_args *a;
    int64_t end;          /* no row sees a key from here on */
    int64_t at[2 * PART]; /* offsets in the pools of the keys of a partition and of the next, for head 0 */
    int64_t next;         /* offset of the run after the one at hand */
    part *kept;           /* [BLOCKS][parts] or NULL */
    int blocks;
    block block[BLOCKS];
} group;

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Row t sees no key from here on. */
static int64_t end_of(const ts_attention_args *a, int64_t t)
{
    int64_t pos = a->pos[t], len = a->len[t], reach = !a->both ? 1 : a->window > 0 ? a->window : len;
    return least(len, pos + reach);
}

/* Offsets of n keys from key j on; past the last key, its own. */
static void locate_some(const group *g, int64_t j, int64_t *at, int n)
{
    const ts_attention_args *a = g->a;
    const ts_kv *kv = &a->kv;
    int64_t last = g->end > 0 ? least(j, g->end - 1) : 0, page = last / kv->page, in = last % kv->page;
    for (int i = 0; i < n; i++) {
        at[i] = (kv->table[page] * a->Hkv * kv->page + in) * a->D;
        if (j + i + 1 < g->end && ++in == kv->page) {
            in = 0;
            page++;
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

/* The run of block i that starts with key `from` is at hand. */
static void begin_run(group *g, int i, int from)
{
    g->next = i + 1 < g->blocks ? g->at[from] + g->block[i + 1].head : g->at[from + RUN] + g->block[0].head;
}

static inline int64_t padded(int64_t D)
{
    return (D + VEC - 1) / VEC * VEC;
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

/* Fetches what lies `bytes` long at an address. */
UNROLLED void fetch(const char *from, int64_t bytes)
{
    for (int64_t i = 0; i < bytes; i += LINE)
        v_prefetch(from + i);
}

#endif
