#ifndef TS_FAST_NEON_SCHEDULES_H
#define TS_FAST_NEON_SCHEDULES_H

#include "schedule.h"

/* In order of preference, NULL behind the last. */
extern const ts_schedule *const ts_neon_schedules[];

#endif
