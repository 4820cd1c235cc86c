/* The verifiers by name, the target's rows, and what verifiers share. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "verify_parts.h"

static const struct {
    const char *name;
    ts_status (*run)(const ts_verify_input *in, ts_round_verdict *out, ts_error *err);
} verifiers[TS_VERIFIERS] = {
    [TS_VERIFY_GREEDY] = {"greedy", ts_verify_greedy}, [TS_VERIFY_RATIO] = {"ratio", ts_verify_ratio},
    [TS_VERIFY_POINT] = {"point", ts_verify_point},    [TS_VERIFY_MATCH] = {"match", ts_verify_match},
    [TS_VERIFY_BLOCK] = {"block", ts_verify_block},
};

ts_status ts_verify_round(ts_verifier which, const ts_verify_input *in, ts_round_verdict *out, ts_error *err)
{
    return verifiers[which].run(in, out, err);
}

const char *ts_verifier_name(ts_verifier which)
{
    return verifiers[which].name;
}

ts_status ts_verifier_of(const char *name, ts_verifier *out, ts_error *err)
{
    for (int i = 0; i < TS_VERIFIERS; i++)
        if (strcmp(name, verifiers[i].name) == 0) {
            *out = (ts_verifier)i;
            return TS_OK;
        }
    return ts_fail(err, TS_USAGE, NULL, "verifier", "'%.60s' is not greedy, ratio, point, match or block", name);
}

static ts_status check_k(int k, ts_error *err)
{
    if (k >= 0 && k <= TS_MAX_DRAFT)
        return TS_OK;
    return ts_fail(err, TS_BAD, NULL, "k", "%d proposals, not 0..%d", k, (int)TS_MAX_DRAFT);
}

ts_status ts_verify_rows(const ts_sampling *s, const float *logits, int64_t V, const int32_t *history,
                         size_t n_history, const int32_t *draft, int k, ts_distribution *p, ts_error *err)
{
    ts_status status = check_k(k, err);
    if (status != TS_OK)
        return status;
    size_t room = n_history + (size_t)k + 1;
    int32_t *ids = malloc(room * sizeof *ids);
    if (!ids)
        return ts_no_memory(err, room * sizeof *ids);
    memset(p, 0, ((size_t)k + 1) * sizeof *p);
    if (n_history > 0)
        memcpy(ids, history, n_history * sizeof *ids);
    if (k > 0)
        memcpy(ids + n_history, draft, (size_t)k * sizeof *ids);
    for (int j = 0; status == TS_OK && j <= k; j++)
        status = ts_distribution_of(s, logits + j * V, V, ids, n_history + (size_t)j, &p[j], err);
    for (int j = 0; status != TS_OK && j <= k; j++)
        ts_distribution_free(&p[j]);
    free(ids);
    return status;
}

static ts_status check_draft(const ts_verify_input *in, int i, ts_error *err)
{
    ts_status status = ts_distribution_check(&in->q[i], "q", err);
    if (status == TS_OK && ts_probability(&in->q[i], in->draft[i]) <= 0.0)
        status = ts_fail(err, TS_BAD, NULL, "q", "draft %d, id %d, has probability 0 under its own law", i + 1,
                         (int)in->draft[i]);
    return status;
}

ts_status ts_verify_begin(const ts_verify_input *in, bool with_q, ts_round_verdict *out, ts_error *err)
{
    *out = (ts_round_verdict){.min_slack = (double)INFINITY, .min_margin = (double)INFINITY};
    ts_status status = check_k(in->k, err);
    for (int j = 0; status == TS_OK && j <= in->k; j++)
        status = ts_distribution_check(&in->p[j], "p", err);
    for (int i = 0; with_q && status == TS_OK && i < in->k; i++)
        status = check_draft(in, i, err);
    for (int i = 0; status == TS_OK && i < in->k; i++)
        out->q_d[i] = with_q ? ts_probability(&in->q[i], in->draft[i]) : 1.0;
    return status;
}

ts_status ts_verify_uniforms(const ts_verify_input *in, int i, uint32_t purpose, double *accept, double *residual,
                             ts_error *err)
{
    const ts_uniforms *from = in->uniforms;
    uint64_t position = in->n + (uint64_t)i;
    ts_status status = from->draw(from->ctx, position, purpose, accept, err);
    if (status == TS_OK)
        status = from->draw(from->ctx, position, TS_DRAW_RESIDUAL, residual, err);
    return status;
}

void ts_verify_slack(double distance, ts_round_verdict *out)
{
    out->min_slack = fmin(out->min_slack, distance);
}

static void finish(const ts_distribution *law, double u, ts_round_verdict *out)
{
    ts_drawn it = ts_draw(law, u);
    out->final = it.id;
    out->final_u = u;
    out->drawn = true;
    ts_verify_slack(it.distance / law->total, out);
}

typedef struct {
    int32_t id;
    double q;
} share;

static int by_id(const void *left, const void *right)
{
    const share *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

/* q's probabilities sorted by id, for a law over a whole vocabulary; NULL if out of memory. */
static share *sorted_shares(const ts_distribution *q)
{
    share *s = malloc((size_t)q->n * sizeof *s);
    for (int64_t i = 0; s && i < q->n; i++)
        s[i] = (share){.id = q->id[i], .q = q->weight[i] / q->total};
    if (s)
        qsort(s, (size_t)q->n, sizeof *s, by_id);
    return s;
}

ts_status ts_verify_rest(const ts_distribution *p, const ts_distribution *q, double scale, ts_distribution *out,
                         ts_error *err)
{
    share *shares = sorted_shares(q);
    *out = (ts_distribution){.id = p->id, .weight = malloc((size_t)p->n * sizeof *out->weight), .n = p->n};
    if (!shares || !out->weight) {
        free(shares);
        free(out->weight);
        return ts_no_memory(err, (unsigned long)p->n * sizeof *out->weight + (unsigned long)q->n * sizeof *shares);
    }
    for (int64_t i = 0; i < p->n; i++) {
        const share *at = bsearch(&(share){.id = p->id[i]}, shares, (size_t)q->n, sizeof *shares, by_id);
        out->weight[i] = fmax(scale * (p->weight[i] / p->total) - (at ? at->q : 0.0), 0.0);
        out->total += out->weight[i];
    }
    free(shares);
    return TS_OK;
}

ts_status ts_verify_residual(const ts_distribution *p, const ts_distribution *q, double scale, double u,
                             ts_round_verdict *out, ts_error *err)
{
    ts_distribution rest;
    ts_status status = ts_verify_rest(p, q, scale, &rest, err);
    if (status != TS_OK)
        return status;
    finish(rest.total > 0.0 ? &rest : p, u, out);
    free(rest.weight);
    return TS_OK;
}

ts_status ts_verify_bonus(const ts_verify_input *in, ts_round_verdict *out, ts_error *err)
{
    double u = 0.0;
    uint64_t position = in->n + (uint64_t)in->k + 1;
    ts_status status = in->uniforms->draw(in->uniforms->ctx, position, TS_DRAW_SAMPLE, &u, err);
    if (status == TS_OK)
        finish(&in->p[in->k], u, out);
    return status;
}

void ts_verify_margin(const ts_verify_input *in, ts_round_verdict *out)
{
    for (int j = 0; j <= out->a; j++)
        out->min_margin = fmin(out->min_margin, in->p[j].margin);
}
