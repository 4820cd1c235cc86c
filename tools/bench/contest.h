/* Contests: every schedule of an operation that accepts a shape, the machine's limits and the peers, in one match.
 */
#ifndef TS_BENCH_CONTEST_H
#define TS_BENCH_CONTEST_H

#include "bench/peer_blas.h"
#include "bench/peer_ggml.h"
#include "bench/result.h"
#include "bench/shapes.h"

typedef struct {
    const char *op, *schedule, *shape; /* NULL: all */
    bool cache, dram;                  /* footprints */
    int threads;
    double seconds;                  /* a contender gets */
    const ts_schedule *const *extra; /* of plugins, NULL behind the last */
    ts_ggml *ggml;                   /* NULL: no such peer */
    const ts_openblas *blas;             /* NULL: no such peer */
    bool quiet;                      /* no tables */
} ts_contest_options;

/* TS_USAGE for an operation, schedule or shape that there is not. */
ts_status ts_contests_check(const ts_contest_options *o, ts_error *err);
/* All that o selects; rows go to out. */
ts_status ts_contests_run(const ts_contest_options *o, ts_result *out, ts_error *err);

#endif
