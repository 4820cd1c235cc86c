#include "schedule.h"

#include "cpu/fused.h"
#include "cpu/portable/pack_a64.h"

extern const ts_schedule ts_matmul_a64s8_avx2, ts_swiglu_avx2;

static const ts_schedule *const matmuls[] = {&ts_matmul_a64s8_avx2, NULL};
static const ts_fused parts = {matmuls, &ts_swiglu_avx2};

static void run(const void *args, int64_t begin, int64_t end)
{
    ts_fused_gate_up(&parts, args, begin, end);
}

static bool accepts(const void *args)
{
    const ts_gate_up_a64s8_args *a = args;
    return a->T <= TS_FUSED_ROWS && a->gate->packing == &ts_pack_a64 && a->up->packing == &ts_pack_a64;
}

const ts_schedule ts_gate_up_a64s8_avx2 = {
    .name = "gate_up_a64s8.avx2",
    .op = TS_OP_GATE_UP_A64S8,
    .backend = "cpu",
    .shapes = "M1-8",
    .order = "A64S8",
    .profile = "any",
    .exposes = "g,u",
    .accepts = accepts,
    .run = run,
    .isa = "avx2",
    .packing = &ts_pack_a64,
};
