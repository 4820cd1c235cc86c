#include "cpu/avx2/schedules.h"

#include <stddef.h>

/* One line per schedule, in order of preference: the engine takes the first that accepts. */
#define TS_SCHEDULES(X)        \
    X(ts_residual_add_avx2)    \
    X(ts_matmul_a64s8_avx2)    \
    X(ts_quantize_a64_avx2)    \
    X(ts_matmul_dot32_m1_avx2) \
    X(ts_matmul_dot32_avx2)

#define DECLARE(schedule) extern const ts_schedule schedule;
#define ADDRESS(schedule) &schedule,

TS_SCHEDULES(DECLARE)

const ts_schedule *const ts_avx2_schedules[] = {TS_SCHEDULES(ADDRESS) NULL};
