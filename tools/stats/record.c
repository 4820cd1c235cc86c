#include "stats/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

ts_status ts_stat_add(ts_stat_record *s, const ts_stat_round *r, const char *prompt, ts_error *err)
{
    if (s->n == s->room) {
        size_t room = 2 * s->room + 64;
        void *more = realloc(s->round, room * sizeof *s->round);
        if (!more)
            return ts_no_memory(err, room * sizeof *s->round);
        s->round = more;
        s->room = room;
    }
    s->round[s->n] = *r;
    ts_status status = ts_prompts_add(&s->prompts, prompt, &s->round[s->n].prompt, err);
    s->n += status == TS_OK;
    return status;
}

static ts_status add(void *user, const ts_round *r, ts_error *err)
{
    ts_stat_round short_form = {.n = r->n,
                                .anchor = r->anchor,
                                .final = r->final,
                                .k = r->k,
                                .a = r->a,
                                .emitted = r->n_emitted,
                                .slack = fmin(r->min_slack, r->min_margin)};
    memcpy(short_form.draft, r->draft, sizeof r->draft);
    return ts_stat_add(user, &short_form, r->prompt, err);
}

ts_status ts_stat_load(const char *path, ts_stat_record *out, ts_error *err)
{
    *out = (ts_stat_record){.path = path};
    ts_status status = ts_rounds_load(path, add, out, err);
    if (status != TS_OK)
        ts_stat_free(out);
    return status;
}

void ts_stat_free(ts_stat_record *s)
{
    free(s->round);
    ts_prompts_free(&s->prompts);
    *s = (ts_stat_record){0};
}

void ts_count_round(const ts_stat_round *r, ts_counts *c)
{
    uint64_t k = (uint64_t)r->k, a = (uint64_t)r->a, e = (uint64_t)r->emitted;
    c->rounds++;
    c->drafting += k > 0;
    c->proposed += k;
    c->accepted += a;
    c->tested += a < k ? a + 1 : k;
    c->emitted += e;
    c->kept_slots += a + 1 < e ? a + 1 : e;
    c->slots += k + 1;
    c->squares += a * a;
    c->hist[a]++;
    c->max_k = r->k > c->max_k ? r->k : c->max_k;
    for (uint64_t i = 1; i <= k; i++) {
        c->reached[i] += a >= i;
        c->offered[i] += a + 1 >= i;
    }
}

ts_counts ts_count(const ts_stat_record *s)
{
    ts_counts c = {0};
    for (size_t i = 0; i < s->n; i++)
        ts_count_round(&s->round[i], &c);
    return c;
}

double ts_mean_accepted(const ts_counts *c)
{
    return (double)c->accepted / (double)c->rounds;
}

double ts_variance(const ts_counts *c)
{
    double R = (double)c->rounds, mean = ts_mean_accepted(c);
    return c->rounds > 1 ? ((double)c->squares - R * mean * mean) / (R - 1.0) : 0.0;
}
