/* One coding over the rows in pieces, state carried: must give the bits of the whole. */
#ifndef TS_CHECK_CHECK_CUTS_H
#define TS_CHECK_CHECK_CUTS_H

#include "check/call.h"
#include "check/check.h"
#include "schedule.h"

/* The field "cuts" of a case, if it has one, for s, which accepts the case and has been tried on it. Not in a child
 * of its own: a crash or a hang here takes the case's process with it, and its parent says so. */
void ts_check_cuts(ts_check *k, const ts_case *c, ts_call *inputs, const ts_call *ref, const ts_schedule *s);

/* s NULL: ref32. Adds one finding per output: EXACT, or FAIL at the first cut that changes a bit. */
void ts_check_cuts_of(ts_check *k, const ts_case *c, const ts_call *inputs, const ts_call *ref,
                      const ts_schedule *s);

#endif
