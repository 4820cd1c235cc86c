#include "stats/tokens.h"

#include <stdlib.h>

/* A record's streams end to end, prompt by prompt: the first round's anchor, then what every round emitted. */
typedef struct {
    int32_t *id;
    size_t *from;   /* [prompts + 1] */
    int64_t *first; /* [prompts] position of a stream's first token */
} streams;

/* Token i of what a round emitted. */
static int32_t emitted(const ts_stat_round *r, int i)
{
    return i < r->a ? r->draft[i] : r->final;
}

static void free_streams(streams *s)
{
    free(s->id);
    free(s->from);
    free(s->first);
}

static ts_status reserve(const ts_stat_record *r, streams *s, ts_error *err)
{
    size_t n = r->prompts.n;
    for (size_t i = 0; i < r->n; i++)
        n += (size_t)r->round[i].emitted;
    *s = (streams){.id = calloc(n + 1, sizeof *s->id),
                   .from = calloc(r->prompts.n + 2, sizeof *s->from),
                   .first = calloc(r->prompts.n + 1, sizeof *s->first)};
    return s->id && s->from && s->first ? TS_OK : ts_no_memory(err, n * sizeof *s->id);
}

static ts_status lay(const ts_stat_record *r, streams *s, ts_error *err)
{
    ts_status status = reserve(r, s, err);
    if (status)
        return status;
    size_t *end = s->from + 1; /* of each stream so far; the next one's beginning once all are counted */
    for (size_t i = 0; i < r->prompts.n; i++)
        end[i] = 1;
    for (size_t i = 0; i < r->n; i++)
        end[r->round[i].prompt] += (size_t)r->round[i].emitted;
    for (size_t i = 1; i < r->prompts.n; i++)
        end[i] += end[i - 1];
    size_t *at = calloc(r->prompts.n + 1, sizeof *at);
    if (!at)
        return ts_no_memory(err, r->prompts.n * sizeof *at);
    for (size_t i = 0; i < r->n; i++) {
        const ts_stat_round *x = &r->round[i];
        int32_t *to = s->id + s->from[x->prompt];
        if (at[x->prompt] == 0) {
            s->first[x->prompt] = x->n;
            to[at[x->prompt]++] = x->anchor;
        }
        for (int t = 0; t < x->emitted; t++)
            to[at[x->prompt]++] = emitted(x, t);
    }
    free(at);
    return TS_OK;
}

static void part(ts_stat_tokens *out, size_t prompt, int64_t at, int32_t a, int32_t b)
{
    if (out->parted++ == 0) {
        out->prompt = prompt;
        out->at = at;
        out->id[0] = a;
        out->id[1] = b;
    }
}

/* Stream i of a, stream j of b. */
static void compare(const streams *a, size_t i, const streams *b, size_t j, ts_stat_tokens *out)
{
    const int32_t *x = a->id + a->from[i], *y = b->id + b->from[j];
    const size_t n = a->from[i + 1] - a->from[i], m = b->from[j + 1] - b->from[j];
    size_t t = 0;
    out->prompts++;
    if (a->first[i] != b->first[j]) {
        part(out, i, -1, x[0], y[0]);
        return;
    }
    while (t < n && t < m && x[t] == y[t])
        t++;
    out->same += t;
    if (t < n && t < m)
        part(out, i, a->first[i] + (int64_t)t, x[t], y[t]);
}

ts_status ts_stat_tokens_of(const ts_stat_record *a, const ts_stat_record *b, ts_stat_tokens *out, ts_error *err)
{
    streams x = {0}, y = {0};
    *out = (ts_stat_tokens){0};
    ts_status status = lay(a, &x, err);
    if (!status)
        status = lay(b, &y, err);
    for (size_t i = 0; !status && i < a->prompts.n; i++) {
        size_t j;
        if (ts_prompts_find(&b->prompts, a->prompts.name[i], &j))
            compare(&x, i, &y, j, out);
    }
    free_streams(&x);
    free_streams(&y);
    return status;
}
