/* The machine's own limits as contenders, and whether it is quiet. */
#ifndef TS_BENCH_PROBE_H
#define TS_BENCH_PROBE_H

#include "bench/measure.h"
#include "cpu/probe.h"

typedef struct {
    const ts_probe *probe;
    int threads;
    double best;      /* instructions/ns of a thread */
    ts_spread spread; /* of repeated looks, in the same unit */
    bool disturbed;   /* the median falls under TS_QUIET of the best */
} ts_quiet;

#define TS_QUIET 0.8

ts_quiet ts_quiet_probe(int threads);

/* A TS_PEAK: a short run of the probe's instruction on every thread. Its multiply-adds count for matches of the
 * same unit only ("": none). */
void ts_add_peak(ts_match *m, ts_quiet *q, const char *unit);
/* Did the machine keep to its best while this match ran? */
bool ts_match_disturbed(const ts_match *m, const ts_quiet *q);

typedef struct {
    const ts_probe *probe;
    char *base;
    size_t stride, bytes; /* from copy to copy; of one, a multiple of 512 */
    int threads;
} ts_bandwidth;

/* A TS_READ over copies of b; update: reads and writes it, which counts twice. b must outlive the match. */
void ts_add_bandwidth(ts_match *m, ts_bandwidth *b, int64_t copies, bool update);

#endif
