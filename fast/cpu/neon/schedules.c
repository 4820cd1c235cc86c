#include "cpu/neon/schedules.h"

#include <stddef.h>

/* One line per schedule, in order of preference: the engine takes the first that accepts. */
#define TS_SCHEDULES(X)       \
    X(ts_exp_neon)            \
    X(ts_sigmoid_neon)        \
    X(ts_silu_neon)           \
    X(ts_softplus_neon)       \
    X(ts_rsqrt_neon)          \
    X(ts_rmsnorm_neon)        \
    X(ts_l2norm_neon)         \
    X(ts_matmul_dot32_neon)   \
    X(ts_quantize_a64_neon)   \
    X(ts_matmul_a64s8_neon)   \
    X(ts_gate_up_a64s8_neon)  \
    X(ts_qkv_conv_a64s8_neon) \
    X(ts_top_slots_neon)

#define DECLARE(schedule) extern const ts_schedule schedule;
#define ADDRESS(schedule) &schedule,

TS_SCHEDULES(DECLARE)

const ts_schedule *const ts_neon_schedules[] = {TS_SCHEDULES(ADDRESS) NULL};
