/* The schedule registry. A schedule is one way to compute one operation; it
 * must give the bits of its declared order. Adding one is one file and one line
 * in fast/registry.c: check and the engine find it there. docs/schedules.md
 * shows how, and how to keep one outside the tree. A change of this struct, or of
 * one in case/args.h, counts TS_PLUGIN_VERSION up (tools/plugin_abi.h). */
#ifndef TS_FAST_SCHEDULE_H
#define TS_FAST_SCHEDULE_H

#include <stdbool.h>
#include "case/op.h"

typedef struct ts_schedule {
    const char *name; /* e.g. "rmsnorm.portable" */
    ts_op_id op;
    const char *backend;               /* "cpu" */
    const char *shapes;                /* shape class: "any", "M1", "M8", ... */
    const char *order;                 /* must equal the operation's */
    const char *profile;               /* "any", or the only profile that may use it */
    const char *exposes;               /* inner tensors it still yields, comma separated, "" if none */
    bool (*accepts)(const void *args); /* NULL: every shape */
    /* Computes the independent outputs begin <= unit < end (see ts_op.units). Units are row-major:
     * "T*Hq" means unit = t*Hq + h. Calls for disjoint ranges may run at the same time. */
    void (*run)(const void *args, int64_t begin, int64_t end);
} ts_schedule;

/* The i-th registered schedule, or NULL past the last. The engine takes the first that accepts. */
const ts_schedule *ts_schedule_at(int i);
const ts_schedule *ts_schedule_find(const char *name);
const ts_schedule *ts_schedule_pick(ts_op_id op, const char *profile, const void *args);
bool ts_schedule_exposes(const ts_schedule *s, const char *tensor);

/* Runs a schedule over all its units on `threads` threads (static cut into equal ranges). */
void ts_schedule_run(const ts_schedule *s, const void *args, int threads);

#endif
