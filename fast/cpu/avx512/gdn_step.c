#include "schedule.h"

#include "cpu/avx512/avx512.h"
#include "cpu/vector/gdn_step.h"

const ts_schedule ts_gdn_step_avx512 = {
    .name = "gdn_step.avx512",
    .op = TS_OP_GDN_STEP,
    .backend = "cpu",
    .shapes = "any",
    .order = "gdn-step",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx512",
};
