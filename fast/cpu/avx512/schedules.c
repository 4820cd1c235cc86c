#include "cpu/avx512/schedules.h"

#include <stddef.h>

/* One line per schedule, in order of preference: the engine takes the first that accepts. */
#define TS_SCHEDULES(X)          \
    X(ts_exp_avx512)             \
    X(ts_sigmoid_avx512)         \
    X(ts_silu_avx512)            \
    X(ts_softplus_avx512)        \
    X(ts_rsqrt_avx512)           \
    X(ts_residual_add_avx512)    \
    X(ts_swiglu_avx512)          \
    X(ts_sigmoid_gate_avx512)    \
    X(ts_embed_avx512)           \
    X(ts_rmsnorm_avx512)         \
    X(ts_l2norm_avx512)          \
    X(ts_gated_norm_avx512)      \
    X(ts_conv1d_avx512)          \
    X(ts_gdn_gates_avx512)       \
    X(ts_gdn_step_avx512)        \
    X(ts_gdn_chunk64_avx512)     \
    X(ts_rope_avx512)            \
    X(ts_kv_store_avx512)        \
    X(ts_attention_avx512)       \
    X(ts_matmul_a64s8_m1_avx512) \
    X(ts_matmul_a64s8_m8_avx512) \
    X(ts_matmul_a64s8_m9_avx512) \
    X(ts_quantize_a64_avx512)    \
    X(ts_matmul_dot32_m1_avx512) \
    X(ts_matmul_dot32_avx512)    \
    X(ts_rmsnorm_a64_avx512)     \
    X(ts_gate_up_a64s8_avx512)   \
    X(ts_qkv_conv_a64s8_avx512)  \
    X(ts_selector_scores_avx512) \
    X(ts_top_slots_avx512)

#define DECLARE(schedule) extern const ts_schedule schedule;
#define ADDRESS(schedule) &schedule,

TS_SCHEDULES(DECLARE)

const ts_schedule *const ts_avx512_schedules[] = {TS_SCHEDULES(ADDRESS) NULL};
