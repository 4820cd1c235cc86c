/* A target and a drafter with one token of memory, and rounds and streams of them. */
#ifndef TS_TESTS_DECODE_TOY_H
#define TS_TESTS_DECODE_TOY_H

#include "draw.h"
#include "verifier.h"

enum { V = 6, K = 2, SLOTS = 4 };

/* A model of one token of memory: logits and a drafter's scores by the token before. */
typedef struct {
    float logits[V][V], score[V][SLOTS];
    int32_t slot[V][SLOTS];
    ts_sampling sampling;
    ts_distribution p[V], q[V];
} toy;

static inline void must(ts_status status, const ts_error *err)
{
    if (status != TS_OK)
        fail_msg("%s: %s", err->tensor, err->reason);
}

/* The slots are SLOTS different ids, in an order of their own. */
static inline void fill_slots(toy *m, int x, uint64_t seed)
{
    int first = (int)(ts_uniform(seed, 900 + (uint64_t)x, TS_DRAW_INPUT) * V);
    for (int i = 0; i < SLOTS; i++)
        m->slot[x][i] = (first + 5 * i) % V;
}

/* spread: of the target's logits; agree: how much of them is in the drafter's scores. */
static inline void build(toy *m, uint64_t seed, float spread, float agree, ts_sampling sampling)
{
    ts_error err = {0};
    m->sampling = sampling;
    for (int x = 0; x < V; x++) {
        fill_slots(m, x, seed);
        for (int y = 0; y < V; y++)
            m->logits[x][y] = spread * (float)ts_uniform(seed, (uint64_t)(V * x + y), TS_DRAW_INPUT);
        for (int i = 0; i < SLOTS; i++)
            m->score[x][i] = agree * m->logits[x][m->slot[x][i]] +
                             3.0f * (1.0f - agree) *
                                 (float)ts_uniform(seed, (uint64_t)(500 + V * x + i), TS_DRAW_INPUT);
        must(ts_distribution_of(&sampling, m->logits[x], V, NULL, 0, &m->p[x], &err), &err);
        must(ts_draft_distribution(m->score[x], m->slot[x], SLOTS, sampling.temperature, &m->q[x], &err), &err);
    }
}

static inline void release(toy *m)
{
    for (int x = 0; x < V; x++) {
        ts_distribution_free(&m->p[x]);
        ts_distribution_free(&m->q[x]);
    }
}

/* One round after `anchor` at n: drafts with purpose DRAFT (the best slot for point and match), then the verdict.
 */
static inline ts_round_verdict round_of(const toy *m, ts_verifier which, const ts_uniforms *from, uint64_t n,
                                        int32_t anchor, int k, int32_t *draft)
{
    ts_distribution p[TS_MAX_DRAFT + 1], q[TS_MAX_DRAFT];
    bool sampled = which == TS_VERIFY_RATIO || which == TS_VERIFY_BLOCK;
    ts_error err = {0};
    ts_round_verdict v;
    p[0] = m->p[anchor];
    for (int i = 0; i < k; i++) {
        double u = 0.0;
        q[i] = m->q[i ? draft[i - 1] : anchor];
        uint32_t purpose = which == TS_VERIFY_BLOCK ? ts_draw_in_block(TS_DRAW_DRAFT, i + 1)
                                                    : (uint32_t)TS_DRAW_DRAFT;
        must(from->draw(from->ctx, n + 1 + (uint64_t)i, purpose, &u, &err), &err);
        draft[i] = sampled ? ts_draw(&q[i], u).id : q[i].id[0];
        p[i + 1] = m->p[draft[i]];
    }
    ts_verify_input in = {.n = n, .k = k, .draft = draft, .p = p, .q = q, .uniforms = from};
    must(ts_verify_round(which, &in, &v, &err), &err);
    return v;
}

/* ids[0] is the anchor at position n; fills up to `count` more. */
static inline void stream(const toy *m, ts_verifier which, const ts_uniforms *from, uint64_t n, int k, int32_t *ids,
                          int count)
{
    int have = 0;
    while (have < count) {
        int32_t draft[TS_MAX_DRAFT];
        ts_round_verdict v = round_of(m, which, from, n + (uint64_t)have, ids[have], k, draft);
        for (int i = 0; i < v.a && have < count; i++)
            ids[++have] = draft[i];
        if (have < count)
            ids[++have] = v.final;
    }
}

static inline ts_sampling warm(float temperature, int64_t top_k, float top_p)
{
    ts_sampling s = ts_sampling_default();
    s.temperature = temperature;
    s.top_k = top_k;
    s.top_p = top_p;
    s.seed = 77;
    return s;
}

#endif
