#include "schedule.h"

#include "cpu/avx512/avx512.h"

extern const ts_schedule ts_quantize_a64_avx512;

static const ts_schedule *const quantize = &ts_quantize_a64_avx512;

#include "cpu/vector/rmsnorm_a64.h"

const ts_schedule ts_rmsnorm_a64_avx512 = {
    .name = "rmsnorm_a64.avx512",
    .op = TS_OP_RMSNORM_A64,
    .backend = "cpu",
    .shapes = "any",
    .order = "dot32, A64",
    .profile = "any",
    .exposes = "y",
    .run = run,
    .isa = "avx512",
};
