#include "bench/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A turn lasts TURN or a call. Before it, the contender makes the caches its own again: a matrix of tens of MB
 * needs SETTLE sweeps for that, but not longer than SETTLE_TIME. */
static const double TURN = 1e6, SETTLE_TIME = 3e8;
enum { SETTLE = 25 };

double ts_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double ts_now_on_core(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Between neighbours, as far as the quantile lies between them. */
static double quantile(const double *x, size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    return i + 1 < n ? x[i] + (at - (double)i) * (x[i + 1] - x[i]) : x[i];
}

ts_spread ts_spread_of(double *x, size_t n)
{
    qsort(x, n, sizeof *x, ascending);
    return (ts_spread){quantile(x, n, 0.5), quantile(x, n, 0.25), quantile(x, n, 0.75)};
}

ts_contender *ts_match_add(ts_match *m, const char *name, ts_contender_kind kind)
{
    if (m->n == TS_MAX_CONTENDERS)
        return NULL;
    ts_contender *c = &m->v[m->n++];
    memset(c, 0, sizeof *c);
    snprintf(c->name, sizeof c->name, "%s", name);
    c->kind = kind;
    c->copies = 1;
    return c;
}

static void call(ts_contender *c)
{
    c->run(c->context, c->next);
    c->next = (c->next + 1) % c->copies;
}

static double timed(const ts_match *m, ts_contender *c, int64_t calls)
{
    double (*now)(void) = m->threads == 1 ? ts_now_on_core : ts_now;
    double start = now();
    for (int64_t i = 0; i < calls; i++)
        call(c);
    return (now() - start) / (double)calls;
}

static int64_t clamp(double x, int64_t lo, int64_t hi)
{
    return x < (double)lo ? lo : x > (double)hi ? hi : (int64_t)x;
}

/* Nothing is to be settled where every call reads another copy. */
static int64_t settling(const ts_contender *c, double one)
{
    return c->copies > 1 || c->kind == TS_PEAK ? 0 : clamp(SETTLE_TIME / one, 0, SETTLE);
}

/* The time of one call, or 0 and the reason to skip it. */
static double calibrate(const ts_match *m, ts_contender *c, double seconds)
{
    double guess = c->guess ? c->guess(c->context) : 0, one = 0;
    if (guess < 2 * seconds * 1e9)
        guess = timed(m, c, 1);
    if (guess <= seconds * 1e9)
        guess = one = timed(m, c, 1); /* the first one may have been cold */
    if (guess > seconds * 1e9) {
        snprintf(c->skip, sizeof c->skip, "one call takes %.3g s, more than --seconds %g", guess / 1e9, seconds);
        return 0;
    }
    one = one > 1 ? one : 1;
    c->calls = clamp(ceil(TURN / one), 1, 1 << 20);
    return one;
}

/* What a round costs without settling, and for how many of them the time is enough. */
static size_t rounds(const ts_match *m, const double *one, double seconds)
{
    double round = 0;
    int64_t running = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (m->v[i].skip[0])
            continue;
        round += one[i] * (double)(m->v[i].calls + settling(&m->v[i], one[i]));
        running++;
    }
    return (size_t)clamp((double)running * seconds * 1e9 / (round > 1 ? round : 1), TS_LEAST_ROUNDS,
                         TS_MOST_ROUNDS);
}

static void turn(const ts_match *m, ts_contender *c, double one, size_t round)
{
    for (int64_t i = settling(c, one); i > 0; i--)
        call(c);
    c->ns[round] = timed(m, c, c->calls);
}

ts_status ts_match_run(ts_match *m, double seconds, ts_error *err)
{
    double one[TS_MAX_CONTENDERS] = {0};
    for (size_t i = 0; i < m->n; i++)
        if (!m->v[i].skip[0])
            one[i] = calibrate(m, &m->v[i], seconds);
    m->rounds = rounds(m, one, seconds);
    for (size_t i = 0; i < m->n; i++) {
        /* Bandwidth is that of a schedule's own copies: half a ring away, or it would find them in the cache. */
        if (m->v[i].kind == TS_READ)
            m->v[i].next = (m->v[i].next + m->v[i].copies / 2) % m->v[i].copies;
        m->v[i].ns = calloc(m->rounds, sizeof *m->v[i].ns);
        if (!m->v[i].ns)
            return ts_no_memory(err, m->rounds * sizeof *m->v[i].ns);
    }
    for (size_t r = 0; r < m->rounds; r++)
        for (size_t i = 0; i < m->n; i++)
            if (!m->v[i].skip[0])
                turn(m, &m->v[i], one[i], r);
    return TS_OK;
}

void ts_match_free(ts_match *m)
{
    for (size_t i = 0; i < m->n; i++)
        free(m->v[i].ns);
    memset(m, 0, sizeof *m);
}

ts_spread ts_match_time(const ts_match *m, const ts_contender *c)
{
    double x[TS_MOST_ROUNDS];
    memcpy(x, c->ns, m->rounds * sizeof *x);
    return ts_spread_of(x, m->rounds);
}

bool ts_match_ratio(const ts_match *m, const ts_contender *c, const ts_contender *yard, ts_spread *out)
{
    double x[TS_MOST_ROUNDS], scale = 1;
    if (c == yard || c->skip[0] || yard->skip[0] || c->kind >= TS_READ || yard->kind == TS_SCHEDULE)
        return false;
    if (c->kind == TS_PEER && yard->kind < TS_READ)
        return false;
    if (yard->kind == TS_READ)
        scale = c->bytes > 0 ? c->bytes / yard->bytes : 0;
    if (yard->kind == TS_PEAK)
        scale = c->macs > 0 && yard->macs > 0 ? c->macs / yard->macs : 0;
    for (size_t r = 0; r < m->rounds; r++)
        x[r] = scale * yard->ns[r] / c->ns[r];
    *out = ts_spread_of(x, m->rounds);
    return scale > 0;
}
