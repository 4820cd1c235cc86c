#include "schedule.h"

#include "cpu/avx2/avx2.h"
#include "cpu/vector/rope.h"

const ts_schedule ts_rope_avx2 = {
    .name = "rope.avx2",
    .op = TS_OP_ROPE,
    .backend = "cpu",
    .shapes = "any",
    .order = "elementwise",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx2",
};
