#include "schedule.h"

#include "cpu/avx2/avx2.h"
#include "cpu/vector/gated_norm.h"

const ts_schedule ts_gated_norm_avx2 = {
    .name = "gated_norm.avx2",
    .op = TS_OP_GATED_NORM,
    .backend = "cpu",
    .shapes = "any",
    .order = "dot32",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx2",
};
