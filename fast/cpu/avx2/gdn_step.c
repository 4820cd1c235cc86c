#include "schedule.h"

#include "cpu/avx2/avx2.h"
#include "cpu/vector/gdn_step.h"

const ts_schedule ts_gdn_step_avx2 = {
    .name = "gdn_step.avx2",
    .op = TS_OP_GDN_STEP,
    .backend = "cpu",
    .shapes = "any",
    .order = "gdn-step",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx2",
};
