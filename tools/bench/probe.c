#include "bench/probe.h"

#include <stdint.h>
#include <string.h>

enum { LOOKS = 25, STEPS = 1 << 14, LOOK = 1 << 17, BLOCK = 512 };

/* Results of loops that are run for their time alone. */
static volatile uint64_t sink;

static void issue(const ts_probe *p, int threads, int64_t steps)
{
    uint64_t sum = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : sum) if (threads > 1)
    for (int i = 0; i < threads; i++)
        sum += p->issue(steps);
    sink = sum;
}

ts_quiet ts_quiet_probe(int threads)
{
    ts_quiet q = {.probe = ts_probe_best(), .threads = threads};
    double rate[LOOKS];
    issue(q.probe, threads, LOOK);
    double (*now)(void) = threads == 1 ? ts_now_on_core : ts_now;
    for (int i = 0; i < LOOKS; i++) {
        double start = now();
        issue(q.probe, threads, LOOK);
        rate[i] = (double)LOOK * TS_PROBE_CHAINS / (now() - start);
        q.best = rate[i] > q.best ? rate[i] : q.best;
    }
    q.spread = ts_spread_of(rate, LOOKS);
    q.disturbed = q.spread.median < TS_QUIET * q.best;
    return q;
}

static void run_peak(void *context, int64_t copy)
{
    const ts_quiet *q = context;
    (void)copy;
    issue(q->probe, q->threads, STEPS);
}

void ts_add_peak(ts_match *m, ts_quiet *q, const char *unit)
{
    ts_contender *c = ts_match_add(m, "peak", TS_PEAK);
    if (!c)
        return;
    c->run = run_peak;
    c->context = q;
    if (strcmp(unit, q->probe->unit) == 0)
        c->macs = (double)STEPS * TS_PROBE_CHAINS * q->probe->macs * q->threads;
}

bool ts_match_disturbed(const ts_match *m, const ts_quiet *q)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->v[i].kind == TS_PEAK && !m->v[i].skip[0])
            return (double)STEPS * TS_PROBE_CHAINS / ts_match_time(m, &m->v[i]).median < TS_QUIET * q->best;
    return false;
}

/* Thread i of n gets whole blocks. */
static size_t cut(const ts_bandwidth *b, int i)
{
    return b->bytes / BLOCK * (size_t)i / (size_t)b->threads * BLOCK;
}

static void run_read(void *context, int64_t copy)
{
    const ts_bandwidth *b = context;
    const char *from = b->base + (size_t)copy * b->stride;
    uint64_t sum = 0;
#pragma omp parallel for num_threads(b->threads) schedule(static) reduction(+ : sum) if (b->threads > 1)
    for (int i = 0; i < b->threads; i++)
        sum += b->probe->read(from + cut(b, i), cut(b, i + 1) - cut(b, i));
    sink = sum;
}

static void run_update(void *context, int64_t copy)
{
    const ts_bandwidth *b = context;
    char *to = b->base + (size_t)copy * b->stride;
#pragma omp parallel for num_threads(b->threads) schedule(static) if (b->threads > 1)
    for (int i = 0; i < b->threads; i++)
        b->probe->update(to + cut(b, i), cut(b, i + 1) - cut(b, i));
}

void ts_add_bandwidth(ts_match *m, ts_bandwidth *b, int64_t copies, bool update)
{
    ts_contender *c = ts_match_add(m, update ? "read+write" : "read", TS_READ);
    if (!c)
        return;
    c->run = update ? run_update : run_read;
    c->context = b;
    c->copies = copies;
    c->bytes = (update ? 2.0 : 1.0) * (double)b->bytes;
}
