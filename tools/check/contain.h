/* A schedule in a child process: whatever it does, the run goes on and says what it was. */
#ifndef TS_CHECK_CONTAIN_H
#define TS_CHECK_CONTAIN_H

#include "check/call.h"
#include "schedule.h"

typedef enum { TS_WAY_WHOLE, TS_WAY_THREADS, TS_WAY_RANGES, TS_WAYS } ts_way; /* three uneven ranges, backwards */

/* Runs s on the guarded call c, `way`. TS_OK: it returned, and memory around the arrays is untouched.
 * TS_DIFFERS: text says how it died (signal and place, exit, time limit) or what it overwrote. */
ts_status ts_contain(const ts_schedule *s, const ts_call *c, ts_way way, int seconds, char *text, size_t size);

#endif
