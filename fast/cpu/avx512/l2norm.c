#include "schedule.h"

#include "cpu/avx512/avx512.h"
#include "cpu/vector/l2norm.h"

const ts_schedule ts_l2norm_avx512 = {
    .name = "l2norm.avx512",
    .op = TS_OP_L2NORM,
    .backend = "cpu",
    .shapes = "any",
    .order = "dot32",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx512",
};
