/* Laws that depend on the whole prefix, and the exact law of what a verifier emits on them.
 *
 * The verifier is a black box: where its answer changes with one of its uniforms is found by bisection over the
 * 2^53 numbers m * 2^-53 that a uniform can be, so the measures are exact to one such step. */
#ifndef TS_TESTS_DECODE_TREE_H
#define TS_TESTS_DECODE_TREE_H

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "verifier.h"

enum { MAX_V = 5, MAX_K = 3, NODES = 1 + 5 + 25 + 125, JOINT = 625 };

typedef struct {
    int V, k;
    int32_t draft[NODES]; /* of point and match: a function of the prefix */
    double p[NODES][MAX_V], q[NODES][MAX_V];
    ts_distribution p_law[NODES], q_law[NODES];
    int32_t ids[2][NODES][MAX_V];
    double weights[2][NODES][MAX_V];
} tree;

/* Node of a prefix: shorter ones first. */
static inline int node(const tree *t, const int32_t *prefix, int length)
{
    int first = 0, code = 0, size = 1;
    for (int i = 0; i < length; i++) {
        first += size;
        size *= t->V;
        code = code * t->V + prefix[i];
    }
    return first + code;
}

/* The law of probabilities x in the declared order: largest first, then id. */
static inline ts_distribution law_of(const double *x, int V, int32_t *id, double *weight)
{
    ts_distribution d = {.id = id, .weight = weight, .n = V, .margin = (double)INFINITY};
    for (int i = 0; i < V; i++) {
        int at = i;
        for (; at > 0 && weight[at - 1] < x[i]; at--) {
            weight[at] = weight[at - 1];
            id[at] = id[at - 1];
        }
        weight[at] = x[i];
        id[at] = i;
    }
    for (int i = 0; i < V; i++)
        d.total += weight[i];
    return d;
}

/* After p and q are filled. */
static inline void tree_finish(tree *t)
{
    int nodes = 0;
    for (int length = 0, size = 1; length <= t->k; length++, size *= t->V)
        nodes += size;
    for (int i = 0; i < nodes; i++) {
        t->p_law[i] = law_of(t->p[i], t->V, t->ids[0][i], t->weights[0][i]);
        t->q_law[i] = law_of(t->q[i], t->V, t->ids[1][i], t->weights[1][i]);
    }
}

static const double LAST_U = 1.0 - 0x1p-53;

/* One round on a draft path. */
static inline ts_round_verdict judge_path(const tree *t, ts_verifier which, const int32_t *path, const double *u,
                                          double final_u)
{
    ts_distribution p[MAX_K + 1], q[MAX_K];
    for (int j = 0; j <= t->k; j++)
        p[j] = t->p_law[node(t, path, j)];
    for (int j = 0; j < t->k; j++)
        q[j] = t->q_law[node(t, path, j)];
    ts_recorded_uniforms record = {.first = 101, .u = u, .n_u = t->k, .final_u = &final_u};
    ts_uniforms from = ts_uniforms_recorded(&record);
    ts_verify_input in = {.n = 100, .k = t->k, .draft = path, .p = p, .q = q, .uniforms = &from};
    ts_round_verdict v;
    ts_error err = {0};
    if (ts_verify_round(which, &in, &v, &err) != TS_OK)
        fail_msg("%s: %s: %s", ts_verifier_name(which), err.tensor, err.reason);
    return v;
}

typedef struct {
    const tree *t;
    ts_verifier which;
    const int32_t *path;
    double u[MAX_K], final_u;
    int vary; /* which number: 0..k-1 of u, k = final_u */
} probe;

static inline ts_round_verdict judge_at(probe *p, uint64_t m)
{
    double x = (double)m * 0x1p-53;
    if (p->vary < p->t->k)
        p->u[p->vary] = x;
    else
        p->final_u = x;
    return judge_path(p->t, p->which, p->path, p->u, p->final_u);
}

/* The token emitted at index `at` of the round, or -1 if it is shorter; at < 0: the final token. */
static inline int32_t emitted_at(const ts_round_verdict *v, const int32_t *path, int at)
{
    if (at < 0 || at == v->a)
        return v->final;
    return at < v->a ? path[at] : -1;
}

/* Share of the varied number for which a >= least; the set is an interval from 0. */
static inline double share_of_keeping(probe *p, int least)
{
    uint64_t lo = 0, hi = (uint64_t)1 << 53; /* kept below lo, not at hi */
    if (judge_at(p, 0).a < least)
        return 0.0;
    if (judge_at(p, hi - 1).a >= least)
        return 1.0;
    while (hi - lo > 1) {
        uint64_t mid = lo + (hi - lo) / 2;
        if (judge_at(p, mid).a >= least)
            lo = mid;
        else
            hi = mid;
    }
    return (double)hi * 0x1p-53;
}

/* share[x] of the varied number for which token x stands at index `at`: one interval for each token, from start[x].
 */
static inline void shares_of_tokens(probe *p, int at, double *share, double *start)
{
    uint64_t from = 0, end = (uint64_t)1 << 53;
    for (int x = 0; x < p->t->V; x++)
        share[x] = 0.0;
    while (from < end) {
        ts_round_verdict v = judge_at(p, from);
        int32_t token = emitted_at(&v, p->path, at);
        uint64_t lo = from, hi = end;
        while (hi - lo > 1) {
            uint64_t mid = lo + (hi - lo) / 2;
            v = judge_at(p, mid);
            if (emitted_at(&v, p->path, at) == token)
                lo = mid;
            else
                hi = mid;
        }
        if (token < 0 || token >= p->t->V || share[token] != 0.0)
            fail_msg("token %d has more than one interval", token);
        share[token] = (double)(hi - from) * 0x1p-53;
        start[token] = (double)from * 0x1p-53;
        from = hi;
    }
}

/* What a round may emit: the law of lengths and tokens, and from it that of the first k + 1 tokens. */
typedef struct {
    double emitted[MAX_K + 1][JOINT]; /* by length - 1 and the tokens as digits */
    double joint[JOINT];
} law;

static inline void emit(const tree *t, law *l, const int32_t *tokens, int n, double weight)
{
    int code = 0;
    for (int i = 0; i < n; i++)
        code = code * t->V + tokens[i];
    l->emitted[n - 1][code] += weight;
}

static inline void emit_final(const tree *t, law *l, const int32_t *path, int a, const double *share, double weight)
{
    int32_t tokens[MAX_K + 1];
    memcpy(tokens, path, (size_t)a * sizeof *tokens);
    for (int32_t x = 0; x < t->V; x++) {
        tokens[a] = x;
        if (share[x] > 0.0)
            emit(t, l, tokens, a + 1, weight * share[x]);
    }
}

/* ratio and point: drafts are judged one after another. */
static inline void add_chain(probe *p, double reach, law *l)
{
    double share[MAX_V], start[MAX_V];
    for (int i = 0; i <= p->t->k && reach > 0.0; i++) {
        double kept = 0.0;
        if (i < p->t->k) {
            p->vary = i;
            kept = share_of_keeping(p, i + 1);
            p->u[i] = LAST_U;
        }
        if (kept < 1.0) {
            p->vary = p->t->k;
            shares_of_tokens(p, -1, share, start);
            emit_final(p->t, l, p->path, i, share, reach * (1.0 - kept));
        }
        if (i < p->t->k)
            p->u[i] = 0.0;
        reach *= kept;
    }
}

/* block: every number alone decides whether its prefix may be kept; the longest is. */
static inline void add_block(probe *p, double reach, law *l)
{
    double kept, share[MAX_V], start[MAX_V];
    for (int i = p->t->k; i >= 0 && reach > 0.0; i--) {
        kept = 1.0;
        if (i > 0) {
            p->vary = i - 1;
            kept = share_of_keeping(p, i);
            p->u[i - 1] = 0.0;
        }
        if (kept > 0.0) {
            p->vary = p->t->k;
            shares_of_tokens(p, -1, share, start);
            emit_final(p->t, l, p->path, i, share, reach * kept);
        }
        if (i > 0)
            p->u[i - 1] = LAST_U;
        reach *= 1.0 - kept;
    }
}

/* match: the number of every row draws its token. */
static inline void add_match(probe *p, double reach, law *l)
{
    double share[MAX_V], start[MAX_V];
    for (int i = 0; i <= p->t->k && reach > 0.0; i++) {
        p->vary = i;
        shares_of_tokens(p, i, share, start);
        double matched = i < p->t->k ? share[p->path[i]] : 0.0;
        if (i < p->t->k)
            share[p->path[i]] = 0.0;
        emit_final(p->t, l, p->path, i, share, reach);
        if (matched > 0.0)
            p->u[i] = start[p->path[i]];
        reach *= matched;
    }
}

static inline void add_path(const tree *t, ts_verifier which, const int32_t *path, double reach, law *l)
{
    probe p = {.t = t, .which = which, .path = path};
    for (int i = 0; which == TS_VERIFY_BLOCK && i < t->k; i++)
        p.u[i] = LAST_U;
    if (which == TS_VERIFY_BLOCK)
        add_block(&p, reach, l);
    else if (which == TS_VERIFY_MATCH)
        add_match(&p, reach, l);
    else
        add_chain(&p, reach, l);
}

static inline int power(int base, int n)
{
    int x = 1;
    while (n-- > 0)
        x *= base;
    return x;
}

/* The emitted sequence goes on with plain draws from p until it has k + 1 tokens. */
static inline void extend(const tree *t, const int32_t *tokens, int n, double weight, double *joint)
{
    int more = t->k + 1 - n, code = 0;
    for (int i = 0; i < n; i++)
        code = code * t->V + tokens[i];
    for (int end = 0; end < power(t->V, more); end++) {
        int32_t all[MAX_K + 1];
        double w = weight;
        for (int i = 0; i < n; i++)
            all[i] = tokens[i];
        for (int i = t->k, rest = end; i >= n; i--, rest /= t->V)
            all[i] = rest % t->V;
        for (int i = n; i <= t->k; i++)
            w *= ts_probability(&t->p_law[node(t, all, i)], all[i]);
        joint[code * power(t->V, more) + end] += w;
    }
}

/* Sums over all draft paths: ratio and block draw them from q, point and match take the tree's. */
static inline void law_of_tree(const tree *t, ts_verifier which, law *l)
{
    memset(l, 0, sizeof *l);
    for (int code = 0; code < power(t->V, t->k); code++) {
        int32_t path[MAX_K + 1];
        double reach = 1.0;
        for (int i = t->k - 1, rest = code; i >= 0; i--, rest /= t->V)
            path[i] = rest % t->V;
        for (int i = 0; i < t->k; i++) {
            int at = node(t, path, i);
            bool sampled = which == TS_VERIFY_RATIO || which == TS_VERIFY_BLOCK;
            reach *= sampled ? ts_probability(&t->q_law[at], path[i]) : (double)(t->draft[at] == path[i]);
        }
        if (reach > 0.0)
            add_path(t, which, path, reach, l);
    }
    for (int n = 1; n <= t->k + 1; n++)
        for (int code = 0; code < power(t->V, n); code++) {
            int32_t tokens[MAX_K + 1];
            for (int i = n - 1, rest = code; i >= 0; i--, rest /= t->V)
                tokens[i] = rest % t->V;
            if (l->emitted[n - 1][code] > 0.0)
                extend(t, tokens, n, l->emitted[n - 1][code], l->joint);
        }
}

#endif
