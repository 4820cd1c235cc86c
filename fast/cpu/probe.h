/* What this CPU can do at most, in loops that do nothing else: what bench holds schedules against, and how it
 * notices that a neighbour takes part of the core. One file per isa, beside its schedules. */
#ifndef TS_FAST_CPU_PROBE_H
#define TS_FAST_CPU_PROBE_H

#include <stddef.h>
#include <stdint.h>

/* Independent chains of instructions in issue: more than latency times ports. */
enum { TS_PROBE_CHAINS = 12 };

typedef struct ts_probe {
    const char *name; /* the instruction, e.g. "vpdpbusd zmm" */
    const char *unit; /* of `macs`: "int8" or "f32" */
    double macs;      /* multiply-adds in one instruction */
    /* n steps of every chain. What these two return is to be used, or the compiler drops the loop. */
    uint64_t (*issue)(int64_t n);
    uint64_t (*read)(const void *p, size_t bytes); /* all of it once, in order; bytes a multiple of 512 */
    void (*update)(void *p, size_t bytes);         /* reads and writes all of it, to the same values; likewise */
} ts_probe;

/* Of the best isa that may run here (TS_CPU caps it). */
const ts_probe *ts_probe_best(void);

#endif
