/* The body of attention.c of every isa, whose header comes first. Keys and values are read once for all rows (a
 * row: one token's query in one head) of a block, which share a kv head. The blocks of a group go through the keys
 * together, RUN keys at a time, and fetch their next run meanwhile: as a page holds all heads of its tokens, memory
 * is read nearly from end to end.
 * The merge needs the maximum over all partitions before it can add the first: a first sweep over the keys makes
 * and keeps the weights, a second one adds the values. Without memory to keep them in, they are made again: the
 * same bits. */
#include <stdlib.h>
#include <string.h>
#include "cpu/vector/attention_scores.h"
#include "cpu/vector/attention_values.h"

/* Where the weights of block i in partition p are, or are to be. */
static part *slot(group *g, int i, int64_t p)
{
    return g->kept ? &g->kept[i * g->a->parts + p] : &g->block[i].slot;
}

/* The weights of all blocks in partition p. */
static void weigh_all(group *g, int64_t p)
{
    for (int i = 0; i < g->blocks; i++)
        visible(g, &g->block[i], p, slot(g, i, p));
    for (int end = RUN; end <= PART; end += RUN)
        for (int i = 0; i < g->blocks; i++) {
            part *w = slot(g, i, p);
            begin_run(g, i, end - RUN);
            score_run(g, &g->block[i], w, end < w->hi ? end : w->hi);
        }
    for (int i = 0; i < g->blocks; i++)
        weigh(&g->block[i], slot(g, i, p));
}

/* Row r of a block's partition p joins the merge, and is shown where the caller gave room. */
static void join(const group *g, block *b, const part *w, int64_t p, int r)
{
    const ts_attention_args *a = g->a;
    int64_t row = b->t[r] * a->Hq + b->h[r], at = row * a->parts + p;
    const float *acc = b->acc + r * padded(a->D);
    if (a->m)
        a->m[at] = w->m[r];
    if (a->l)
        a->l[at] = w->l[r];
    if (a->acc)
        memcpy(a->acc + at * a->D, acc, (size_t)a->D * sizeof *acc);
    if (w->l[r] == 0.0f)
        return;
    float share = exponential(w->m[r] - b->M[r]), *o = a->o + row * a->D;
    b->L[r] = ts_fma(share, w->l[r], b->L[r]);
    int64_t c = 0;
    for (; c + VEC <= a->D; c += VEC)
        v_store(o + c, v_fma(v_all(share), v_load(acc + c), v_load(o + c)));
    vmask rest = v_first(a->D - c);
    if (c < a->D)
        v_store_some(o + c, rest, v_fma(v_all(share), v_load(acc + c), v_load_some(o + c, rest)));
}

/* Partition p of all blocks joins the merge. */
static void add_all(group *g, int64_t p)
{
    for (int i = 0; i < g->blocks; i++)
        memset(g->block[i].acc, 0, (size_t)(g->block[i].R * padded(g->a->D)) * sizeof *g->block[i].acc);
    for (int from = 0; from < PART; from += RUN)
        for (int i = 0; i < g->blocks; i++) {
            const part *w = slot(g, i, p);
            int lo = from > w->lo ? from : w->lo, hi = from + RUN < w->hi ? from + RUN : w->hi;
            begin_run(g, i, from);
            if (lo < hi)
                values_run(g, &g->block[i], w, lo, hi);
        }
    for (int i = 0; i < g->blocks; i++)
        for (int r = 0; r < g->block[i].rows; r++)
            join(g, &g->block[i], slot(g, i, p), p, r);
}

/* The weights of all partitions, and the maximum over those that have a key. */
static void first_sweep(group *g)
{
    for (int64_t p = 0; p < g->a->parts; p++) {
        locate(g, p);
        weigh_all(g, p);
        for (int i = 0; i < g->blocks; i++) {
            block *b = &g->block[i];
            const part *w = slot(g, i, p);
            for (int r = 0; r < b->rows; r++)
                b->M[r] = w->l[r] != 0.0f && w->m[r] > b->M[r] ? w->m[r] : b->M[r];
        }
    }
}

static void second_sweep(group *g)
{
    for (int64_t p = 0; p < g->a->parts; p++) {
        locate(g, p);
        if (!g->kept)
            weigh_all(g, p);
        add_all(g, p);
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

/* A row joins the last block, or a new one if that is full or of another kv head. */
static void enter(group *g, int64_t t, int64_t h, int64_t head)
{
    const ts_attention_args *a = g->a;
    block *b = &g->block[g->blocks ? g->blocks - 1 : 0];
    if (g->blocks == 0 || b->rows == ROWS || b->head != head) {
        if (g->blocks == BLOCKS)
            attend(g);
        b = &g->block[g->blocks++];
        b->rows = 0;
        b->head = head;
    }
    b->t[b->rows] = t;
    b->h[b->rows++] = h;
    int64_t end = end_of(a, t);
    g->end = end > g->end ? end : g->end;
}

static void run(const void *args, int64_t begin, int64_t end)
{
    group g;
    g.a = args;
    g.blocks = 0;
    g.end = 0;
    const int64_t Hq = g.a->Hq, share = Hq / g.a->Hkv, head = g.a->kv.page * g.a->D;
    g.kept = malloc((size_t)BLOCKS * (size_t)g.a->parts * sizeof *g.kept);
    for (int64_t kvh = 0; kvh < g.a->Hkv; kvh++)
        for (int64_t t = begin / Hq; t * Hq < end; t++)
            for (int64_t h = kvh * share; h < (kvh + 1) * share; h++)
                if (begin <= t * Hq + h && t * Hq + h < end)
                    enter(&g, t, h, kvh * head);
    if (g.blocks)
        attend(&g);
    free(g.kept);
}

static bool accepts(const void *args)
{
    const ts_attention_args *a = args;
    return a->D <= MAX_D && a->kv.dtype <= TS_KV_F16;
}
