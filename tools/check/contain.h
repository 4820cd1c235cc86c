/* A schedule in a child process: whatever it does, the run goes on and says what it was. */
#ifndef TS_CHECK_CONTAIN_H
#define TS_CHECK_CONTAIN_H

#include "check/call.h"
#include "schedule.h"

typedef enum { TS_WAY_WHOLE, TS_WAY_THREADS, TS_WAY_RANGES, TS_WAYS } ts_way; /* three uneven ranges, backwards */

typedef struct {
    ts_call call[TS_WAYS][TS_FILLS]; /* guarded; the first one owns the inputs of all */
    bool skipped[TS_WAYS];           /* not run, because an earlier way hangs */
    char text[TS_WAYS][256];         /* "" if it returned and kept to its outputs; else what it did instead */
} ts_trial;

/* Runs s on the inputs every way, twice each, once over each fill of the outputs. One child does it all; only if a
 * way kills it does another go on behind that. `seconds` is the limit of one run. */
ts_status ts_trial_run(const ts_schedule *s, const ts_call *inputs, int seconds, ts_trial *out, ts_error *err);
void ts_trial_free(ts_trial *t);

#endif
