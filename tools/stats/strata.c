#include "stats/strata.h"

#include <stdlib.h>

typedef struct {
    size_t prompt;
    int k, a;
} entry;

static int by_k_then_prompt(const void *left, const void *right)
{
    const entry *x = left, *y = right;
    return x->k != y->k ? (x->k > y->k) - (x->k < y->k) : (x->prompt > y->prompt) - (x->prompt < y->prompt);
}

/* Sorted; as: the first record's number of each of this one's prompts, NULL if it is the first. NULL: no memory. */
static entry *sorted(const ts_stat_record *s, const size_t *as)
{
    entry *e = malloc((s->n + 1) * sizeof *e);
    for (size_t i = 0; e && i < s->n; i++) {
        const ts_stat_round *r = &s->round[i];
        e[i] = (entry){.prompt = as ? as[r->prompt] : r->prompt, .k = r->k, .a = r->a};
    }
    if (e)
        qsort(e, s->n, sizeof *e, by_k_then_prompt);
    return e;
}

static size_t count_run(const entry *e, size_t n, uint64_t *by_a)
{
    size_t i = 0;
    for (; i < n && by_k_then_prompt(&e[i], &e[0]) == 0; i++)
        by_a[e[i].a]++;
    return i;
}

static ts_status append(ts_strata *t, const ts_stratum *s, size_t *room, ts_error *err)
{
    if (t->n == *room) {
        *room = 2 * *room + 8;
        void *more = realloc(t->s, *room * sizeof *t->s);
        if (!more)
            return ts_no_memory(err, *room * sizeof *t->s);
        t->s = more;
    }
    t->s[t->n++] = *s;
    return TS_OK;
}

static ts_status merge(const entry *a, size_t n_a, const entry *b, size_t n_b, ts_strata *t, ts_error *err)
{
    size_t i = 0, j = 0, room = 0;
    ts_status status = TS_OK;
    while (status == TS_OK && i < n_a && j < n_b) {
        ts_stratum s = {.k = a[i].k, .prompt = a[i].prompt};
        int order = by_k_then_prompt(&a[i], &b[j]);
        i += order <= 0 ? count_run(a + i, n_a - i, s.n[0]) : 0;
        j += order >= 0 ? count_run(b + j, n_b - j, s.n[1]) : 0;
        if (order == 0 && s.k > 0)
            status = append(t, &s, &room, err);
    }
    return status;
}

static ts_status find_in(const ts_stat_record *s, const char *name, const char *other, size_t *at, ts_error *err)
{
    if (ts_prompts_find(&s->prompts, name, at))
        return TS_OK;
    return ts_fail(err, TS_BAD, s->path, "prompt", "'%s' has rounds only in %s: records are paired by prompt", name,
                   other);
}

static ts_status pair_prompts(const ts_stat_record *a, const ts_stat_record *b, size_t *as, ts_error *err)
{
    size_t ignored;
    ts_status status = TS_OK;
    for (size_t i = 0; status == TS_OK && i < b->prompts.n; i++)
        status = find_in(a, b->prompts.name[i], b->path, &as[i], err);
    for (size_t i = 0; status == TS_OK && i < a->prompts.n; i++)
        status = find_in(b, a->prompts.name[i], a->path, &ignored, err);
    return status;
}

ts_status ts_strata_of(const ts_stat_record *a, const ts_stat_record *b, ts_strata *out, ts_error *err)
{
    *out = (ts_strata){0};
    size_t *as = calloc(b->prompts.n + 1, sizeof *as);
    ts_status status = as ? pair_prompts(a, b, as, err) : ts_no_memory(err, b->prompts.n * sizeof *as);
    entry *of_a = status ? NULL : sorted(a, NULL), *of_b = status ? NULL : sorted(b, as);
    if (status == TS_OK)
        status = of_a && of_b ? merge(of_a, a->n, of_b, b->n, out, err)
                              : ts_no_memory(err, (a->n + b->n) * sizeof *of_a);
    if (status == TS_OK && out->n == 0)
        status = ts_fail(err, TS_BAD, b->path, "k",
                         "no proposals of a prompt and a k that %s has too: nothing to compare", a->path);
    free(as);
    free(of_a);
    free(of_b);
    if (status != TS_OK)
        ts_strata_free(out);
    return status;
}

void ts_strata_free(ts_strata *t)
{
    free(t->s);
    *t = (ts_strata){0};
}

uint64_t ts_rounds_between(const uint64_t *n, int from, int to)
{
    uint64_t total = 0;
    for (int i = from; i <= to; i++)
        total += n[i];
    return total;
}
