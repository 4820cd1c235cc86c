#include "schedule.h"

#include "cpu/avx2/avx2.h"
#include "cpu/vector/gdn_gates.h"

const ts_schedule ts_gdn_gates_avx2 = {
    .name = "gdn_gates.avx2",
    .op = TS_OP_GDN_GATES,
    .backend = "cpu",
    .shapes = "any",
    .order = "elementwise",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx2",
};
