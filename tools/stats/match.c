/* The ladder: identical tuples; the same prefixes, round by round; independent streams. */
#include "stats/match.h"

#include <math.h>
#include <string.h>

#include "stats/streams.h"
#include "stats/tails.h"

/* The first member in which two rounds differ, "" if in none. */
static const char *difference(const ts_stat_record *a, const ts_stat_round *x, const ts_stat_record *b,
                              const ts_stat_round *y)
{
    if (strcmp(a->prompts.name[x->prompt], b->prompts.name[y->prompt]) != 0)
        return "prompt";
    if (x->n != y->n)
        return "n";
    if (x->anchor != y->anchor)
        return "anchor";
    if (x->k != y->k)
        return "k";
    if (memcmp(x->draft, y->draft, (size_t)x->k * sizeof *x->draft) != 0)
        return "draft";
    return x->a != y->a ? "a" : x->final != y->final ? "final" : "";
}

static bool same_prefix(const char *what)
{
    return !*what || strcmp(what, "draft") == 0 || strcmp(what, "a") == 0 || strcmp(what, "final") == 0;
}

static void count_drafts(const ts_stat_round *x, const ts_stat_round *y, ts_match *m)
{
    int k = x->k < y->k ? x->k : y->k;
    m->max_k = k > m->max_k ? k : m->max_k;
    for (int i = 1; i <= k; i++) {
        m->drafted[i]++;
        m->agreed[i] += x->draft[i - 1] == y->draft[i - 1];
    }
}

/* The first position at which one kept a draft and the other did not. */
static void count_alone(const ts_stat_round *x, const ts_stat_round *y, ts_match *m)
{
    const int a = x->a < y->a ? x->a : y->a;
    if (x->a != y->a)
        m->alone[y->a > x->a][a + 1]++;
}

/* Level by level; counts what an aligned pair tells. */
static void align(const ts_stat_record *a, const ts_stat_record *b, ts_match *m)
{
    size_t n = a->n < b->n ? a->n : b->n;
    bool aligned = a->n == b->n;
    m->what = a->n == b->n ? "" : "rounds";
    m->first = n;
    for (size_t i = 0; i < n; i++) {
        const ts_stat_round *x = &a->round[i], *y = &b->round[i];
        const char *what = difference(a, x, b, y);
        if (*what && m->first == n) {
            m->first = i;
            m->what = what;
        }
        count_drafts(x, y, m);
        count_alone(x, y, m);
        m->unequal += *what != '\0';
        m->more += y->a > x->a;
        m->fewer += y->a < x->a;
        m->splits += y->a != x->a || y->final != x->final;
        aligned = aligned && same_prefix(what);
    }
    m->equal = n - m->unequal;
    m->level = !*m->what ? TS_MATCH_EXACT : aligned ? TS_MATCH_PAIRED : TS_MATCH_FREE;
}

static ts_status count_near(const ts_stat_record *a, double near, ts_match *m, ts_error *err)
{
    m->capped = !isnan(near);
    m->near = near;
    for (size_t i = 0; m->capped && i < a->n; i++) {
        if (isinf(a->round[i].slack))
            return ts_fail(err, TS_BAD, a->path, "min_slack", "round %zu has neither it nor min_margin: no cap", i);
        m->cap += a->round[i].slack < near;
    }
    return TS_OK;
}

static ts_status judge_pairs(const ts_stat_record *a, double near, ts_match *m, ts_error *err)
{
    ts_status status = count_near(a, near, m, err);
    m->sign_p = ts_sign_two_sided(m->more, m->fewer);
    for (int i = 1; i <= m->max_k; i++)
        m->alone_p[i] = fmin(1.0, m->max_k * ts_sign_two_sided(m->alone[1][i], m->alone[0][i]));
    m->alarm = m->sign_p < m->alpha || (m->capped && m->splits > m->cap);
    return status;
}

ts_status ts_match_records(const ts_stat_record *a, const ts_stat_record *b, double alpha, double near,
                           ts_match *out, ts_error *err)
{
    *out = (ts_match){.alpha = alpha, .p = 1.0, .G_p = 1.0, .sign_p = 1.0};
    align(a, b, out);
    if (out->level == TS_MATCH_EXACT)
        return TS_OK;
    if (out->level == TS_MATCH_PAIRED)
        return judge_pairs(a, near, out, err);
    ts_status status = ts_stat_tokens_of(a, b, &out->tokens, err);
    return status ? status : ts_match_streams(a, b, out, err);
}
