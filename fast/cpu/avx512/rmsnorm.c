#include "schedule.h"

#include "cpu/avx512/avx512.h"
#include "cpu/vector/rmsnorm.h"

const ts_schedule ts_rmsnorm_avx512 = {
    .name = "rmsnorm.avx512",
    .op = TS_OP_RMSNORM,
    .backend = "cpu",
    .shapes = "any",
    .order = "dot32",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx512",
};
