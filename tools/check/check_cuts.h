/* One coding over the rows in pieces; apart from ts_check_cuts so that a test can plant one that is wrong. */
#ifndef TS_CHECK_CHECK_CUTS_H
#define TS_CHECK_CHECK_CUTS_H

#include "check/call.h"
#include "check/check.h"
#include "schedule.h"

/* s NULL: ref32. Adds one finding per output: EXACT, or FAIL at the first cut that changes a bit. */
void ts_check_cuts_of(ts_check *k, const ts_case *c, const ts_call *inputs, const ts_call *ref,
                      const ts_schedule *s);

#endif
