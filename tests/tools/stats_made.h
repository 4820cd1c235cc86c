/* Records made up for the tests of touchstone stats. */
#ifndef TS_TESTS_TOOLS_STATS_MADE_H
#define TS_TESTS_TOOLS_STATS_MADE_H

#include <math.h>

#include "num/philox.h"
#include "stats/match.h"

static inline ts_stat_round made(int k, int a, int emitted)
{
    ts_stat_round r = {
        .n = 10, .anchor = 1, .final = 2, .k = k, .a = a, .emitted = emitted, .slack = (double)INFINITY};
    for (int i = 0; i < k; i++)
        r.draft[i] = 100 + i;
    return r;
}

/* a of a round whose drafts are kept with probability h, one after another. */
static inline int draw_a(uint64_t seed, uint64_t round, int k, double h)
{
    int a = 0;
    while (a < k && ts_uniform(seed, round * 32 + (uint64_t)a, TS_DRAW_INPUT) < h)
        a++;
    return a;
}

/* Records of streams that have nothing but a law in common: no n is shared. prompt i has hazard h[i]. */
static inline ts_stat_record synthetic(uint64_t seed, size_t rounds, int k, const double *h, int prompts)
{
    ts_stat_record s = {.path = "synthetic"};
    for (size_t i = 0; i < rounds; i++) {
        int p = (int)(i * (size_t)prompts / rounds), a = draw_a(seed, i, k, h[p]);
        char name[16];
        snprintf(name, sizeof name, "p%d", p);
        ts_stat_round r = made(k, a, a + 1);
        r.n = (int64_t)(seed * 1000000 + i);
        assert_int_equal(ts_stat_add(&s, &r, name, NULL), TS_OK);
    }
    return s;
}

static inline ts_match compare(const ts_stat_record *a, const ts_stat_record *b, double alpha)
{
    ts_match m;
    ts_error err = {0};
    if (ts_match_records(a, b, alpha, (double)NAN, &m, &err) != TS_OK)
        fail_msg("%s: %s", err.tensor, err.reason);
    return m;
}

#endif
