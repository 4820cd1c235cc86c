/* Jobs in processes of their own, some at a time: one that dies loses nothing but itself. */
#ifndef TS_CHECK_POOL_H
#define TS_CHECK_POOL_H

#include <stddef.h>
#include "check/report.h"

typedef struct {
    size_t n, width;                                     /* jobs; how many at a time */
    int seconds;                                         /* without a finding or a ts_report_now: it hangs */
    void (*work)(void *context, size_t i, ts_report *r); /* in the child: findings of job i go to r */
    void (*done)(void *context, size_t i);               /* in the parent: *part[i] is complete */
    void *context;
    ts_report **part; /* n reports, begun */
} ts_pool;

/* Each process is forked from here, by the caller's only thread, and not out of a parallel loop: a child may start
 * threads, and OpenMP's do not survive a fork (a parallel region in the child would wait for them for ever). */
void ts_pool_run(const ts_pool *p);

#endif
