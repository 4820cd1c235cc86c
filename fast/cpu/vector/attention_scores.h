/* The first half of attention: a block's weights in one partition. */
#ifndef TS_FAST_VECTOR_ATTENTION_SCORES_H
#define TS_FAST_VECTOR_ATTENTION_SCORES_H

#include "cpu/vector/attention_block.h"
#include "cpu/vector/dot32.h"
#include "cpu/vector/softmax.h"

/* Whole chunks of one strip: n of R rows x and K keys, whose chains s stay in registers. Returns where they end. */
UNROLLED int64_t chunks(const void *k, const float *x, const int64_t *at, int strip, int64_t D, int R, int n, int K,
                        int dtype, const char *next, vec s[DOTS][2])
{
    int64_t c = strip * VEC;
    for (; c + 16 + VEC <= D; c += CHUNK, x += R * CHUNK) {
        if (strip == 0)
            fetch(next + c * K * size_of(dtype), K * CHUNK * size_of(dtype));
        vec lo[DOTS], hi[DOTS];
        for (int i = 0; i < K; i++) {
            lo[i] = load(k, at[i] + c, dtype);
            hi[i] = load(k, at[i] + c + 16, dtype);
        }
        for (int r = 0; r < n; r++) {
            vec q = v_load(x + r * CHUNK), q16 = v_load(x + r * CHUNK + 16);
            for (int i = 0; i < K; i++) {
                s[i * n + r][0] = v_fma(q, lo[i], s[i * n + r][0]);
                s[i * n + r][1] = v_fma(q16, hi[i], s[i * n + r][1]);
            }
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

/* out[i * n + r] = scale * (row r of n, laid out for R, times key i of K), in order dot32: strip by strip, one tree
 * for all. */
UNROLLED void dots(const void *k, const float *q, const int64_t *at, int64_t D, int R, int n, int K, float scale,
                   int dtype, const char *next, float out[VEC])
{
    vec t[DOTS][STRIPS];
    for (int strip = 0; strip < STRIPS; strip++) {
        vec s[DOTS][2];
        for (int i = 0; i < DOTS; i++)
            s[i][0] = s[i][1] = v_all(0.0f);
        const float *x = q + strip * VEC;
        int64_t c = chunks(k, x, at, strip, D, R, n, K, dtype, next, s);
        if (c < D)
            rest(k, x + c / CHUNK * R * CHUNK, at, c, D, n, K, dtype, s);
        for (int i = 0; i < DOTS; i++)
            t[i][strip] = v_add(s[i][0], s[i][1]);
    }
    v_trees(t, scale, out);
}

/* Scores of all R rows for the keys before `end` that have none; those that a row does not see are not used. */
UNROLLED void score(const group *g, const block *b, part *w, int end, int R, int dtype)
{
    const int n = R > DOTS ? R / 2 : R, K = DOTS / n;
    const float scale = (float)g->a->scale;
    for (; w->scored < end; w->scored += K) {
        int64_t at[DOTS];
        float out[VEC];
        for (int k = 0; k < K; k++)
            at[k] = g->at[w->scored + k] + b->head;
        const char *next = (const char *)g->a->kv.k + (g->next + w->scored % RUN * g->a->D) * size_of(dtype);
        for (int r0 = 0; r0 < R; r0 += n) {
            dots(g->a->kv.k, b->q + r0 * CHUNK, at, g->a->D, R, n, K, scale, dtype, next, out);
            for (int k = 0; k < K && w->scored + k < w->hi; k++)
                for (int r = 0; r < n; r++)
                    w->w[r0 + r][w->scored + k] = out[k * n + r];
        }
    }
}

static inline void score_rows(const group *g, const block *b, part *w, int end, int dtype)
{
    switch (b->R) {
    case 1:
        score(g, b, w, end, 1, dtype);
        break;
    case 2:
        score(g, b, w, end, 2, dtype);
        break;
    case 4:
        score(g, b, w, end, 4, dtype);
        break;
    case 6:
        score(g, b, w, end, 6, dtype);
        break;
    default:
        score(g, b, w, end, ROWS, dtype);
    }
}

/* Each row's sum is a chain; those of all R rows go side by side where they can. */
UNROLLED void sums(part *w, int R)
{
    float l[ROWS] = {0};
    for (int r = 0; r < R; r++)
        l[r] = sum(0.0f, w->w[r], w->from[r], w->to[r] < w->all_from ? w->to[r] : w->all_from);
    for (int i = w->all_from; i < w->all_to; i++)
        for (int r = 0; r < R; r++)
            l[r] += w->w[r][i];
    for (int r = 0; r < R; r++)
        w->l[r] = sum(l[r], w->w[r], w->from[r] > w->all_to ? w->from[r] : w->all_to, w->to[r]);
}

/* Which keys of partition p the rows see. */
static void visible(const group *g, const block *b, int64_t p, part *w)
{
    const ts_attention_args *a = g->a;
    w->lo = w->all_to = PART;
    w->hi = w->all_from = 0;
    for (int r = 0; r < b->R; r++) {
        int64_t pos = a->pos[b->t[r]], end = least(end_of(a, b->t[r]) - PART * p, PART);
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
    w->scored = w->lo;
}

static void score_run(const group *g, const block *b, part *w, int end)
{
    if (g->a->kv.dtype == TS_KV_BF16)
        score_rows(g, b, w, end, TS_KV_BF16);
    else if (g->a->kv.dtype == TS_KV_F16)
        score_rows(g, b, w, end, TS_KV_F16);
    else
        score_rows(g, b, w, end, TS_KV_REAL);
}

/* Scores become weights. */
static void weigh(const block *b, part *w)
{
    for (int r = 0; r < b->R; r++) {
        float *s = w->w[r] + w->from[r];
        w->m[r] = largest(s, w->to[r] - w->from[r]);
        exponentials(s, w->to[r] - w->from[r], w->m[r]);
    }
    switch (b->R) {
    case 1:
        sums(w, 1);
        break;
    case 2:
        sums(w, 2);
        break;
    case 4:
        sums(w, 4);
        break;
    case 6:
        sums(w, 6);
        break;
    default:
        sums(w, ROWS);
    }
}

#endif
