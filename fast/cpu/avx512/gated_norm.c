#include "schedule.h"

#include "cpu/avx512/avx512.h"
#include "cpu/vector/gated_norm.h"

const ts_schedule ts_gated_norm_avx512 = {
    .name = "gated_norm.avx512",
    .op = TS_OP_GATED_NORM,
    .backend = "cpu",
    .shapes = "any",
    .order = "dot32",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx512",
};
