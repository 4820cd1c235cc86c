#include "schedule.h"

#include "cpu/fused.h"

extern const ts_schedule ts_matmul_a64s8_neon, ts_swiglu_portable;

static const ts_schedule *const matmuls[] = {&ts_matmul_a64s8_neon, NULL};
static const ts_fused parts = {matmuls, &ts_swiglu_portable};

static void run(const void *args, int64_t begin, int64_t end)
{
    ts_fused_gate_up(&parts, args, begin, end);
}

const ts_schedule ts_gate_up_a64s8_neon = {
    .name = "gate_up_a64s8.neon",
    .op = TS_OP_GATE_UP_A64S8,
    .backend = "cpu",
    .shapes = "any",
    .order = "A64S8",
    .profile = "any",
    .exposes = "g,u",
    .run = run,
    .isa = "neon",
};
