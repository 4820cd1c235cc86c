#include "schedule.h"

#include "cpu/avx2/avx2.h"
#include "cpu/vector/rmsnorm.h"

const ts_schedule ts_rmsnorm_avx2 = {
    .name = "rmsnorm.avx2",
    .op = TS_OP_RMSNORM,
    .backend = "cpu",
    .shapes = "any",
    .order = "dot32",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx2",
};
