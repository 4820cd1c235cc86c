#include "schedule.h"

#include "cpu/fused.h"

extern const ts_schedule ts_matmul_a64s8_neon, ts_conv1d_portable;

static const ts_schedule *const matmuls[] = {&ts_matmul_a64s8_neon, NULL};
static const ts_fused parts = {matmuls, &ts_conv1d_portable};

static void run(const void *args, int64_t begin, int64_t end)
{
    ts_fused_qkv_conv(&parts, args, begin, end);
}

const ts_schedule ts_qkv_conv_a64s8_neon = {
    .name = "qkv_conv_a64s8.neon",
    .op = TS_OP_QKV_CONV_A64S8,
    .backend = "cpu",
    .shapes = "any",
    .order = "A64S8, taps",
    .profile = "any",
    .exposes = "qkv",
    .run = run,
    .isa = "neon",
};
