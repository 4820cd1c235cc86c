#include "schedule.h"

#include "cpu/avx512/avx512.h"
#include "cpu/vector/rope.h"

const ts_schedule ts_rope_avx512 = {
    .name = "rope.avx512",
    .op = TS_OP_ROPE,
    .backend = "cpu",
    .shapes = "any",
    .order = "elementwise",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx512",
};
