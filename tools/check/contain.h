/* A schedule in a child process: whatever it does, the run goes on and says what it was. */
#ifndef TS_CHECK_CONTAIN_H
#define TS_CHECK_CONTAIN_H

#include "check/call.h"
#include "schedule.h"

/* The last one: three uneven ranges, each over fresh outputs, up over the one fill and down over the other. */
typedef enum { TS_WAY_WHOLE, TS_WAY_THREADS, TS_WAY_RANGES, TS_WAYS } ts_way;

typedef struct {
    bool accepted;
    bool died; /* it ended its process, or had to be ended */
    char
        problem[256]; /* "", or what is wrong with it apart from a way: packing, accepting, what it leaves behind */
    ts_call result[TS_WAYS][TS_FILLS]; /* outputs */
    bool skipped[TS_WAYS];             /* not run, because an earlier way hangs */
    char text[TS_WAYS][256];           /* "" if it returned and kept to its outputs; else what it did instead */

    ts_call call, before[TS_FILLS]; /* what the child runs, guarded; its outputs before each run */
} ts_trial;

/* Packs the weights as s wants them, asks whether it accepts, and runs it every way, once over each fill of the
 * outputs. One child does it all; only if a way kills it does another go on behind that. `seconds` is the limit of
 * everything together. The child closes `stream`, its caller's way out, if that is > 0. */
ts_status ts_trial_run(const ts_schedule *s, const ts_call *inputs, int seconds, int stream, ts_trial *out,
                       ts_error *err);
void ts_trial_free(ts_trial *t);

#endif
