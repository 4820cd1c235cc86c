#include "schedule.h"

#include "cpu/avx512/avx512.h"
#include "cpu/vector/gdn_gates.h"

const ts_schedule ts_gdn_gates_avx512 = {
    .name = "gdn_gates.avx512",
    .op = TS_OP_GDN_GATES,
    .backend = "cpu",
    .shapes = "any",
    .order = "elementwise",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx512",
};
