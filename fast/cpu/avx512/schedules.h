#ifndef TS_FAST_AVX512_SCHEDULES_H
#define TS_FAST_AVX512_SCHEDULES_H

#include "cpu/probe.h"
#include "schedule.h"

/* In order of preference, NULL behind the last. */
extern const ts_schedule *const ts_avx512_schedules[];

extern const ts_probe ts_avx512_probe;

#endif
