/* A target and its drafter in one of the three engines, as speculative generation wants them. */
#ifndef TS_TOOLS_ROUNDS_H
#define TS_TOOLS_ROUNDS_H

#include "runner.h"
#include "speculate.h"

typedef struct ts_rounds ts_rounds;

/* o->capacity: tokens of either state, a round's k + 1 included. Borrows the weights. TS_USAGE: an unknown engine.
 */
ts_status ts_rounds_open(const ts_weights *target, const ts_weights *drafter, const ts_runner_options *o,
                         ts_rounds **out, ts_error *err);
void ts_rounds_close(ts_rounds *r);
const ts_round_engine *ts_rounds_engine(const ts_rounds *r);
/* As ts_runner_state_trace; the drafter's names begin with "draft.". */
void ts_rounds_state_trace(const ts_rounds *r, const char *suffix, ts_trace *out);

#endif
