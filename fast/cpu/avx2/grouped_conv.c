#include "schedule.h"

#include "cpu/avx2/avx2.h"
#include "cpu/vector/grouped_conv.h"

const ts_schedule ts_grouped_conv_avx2 = {
    .name = "grouped_conv.avx2",
    .op = TS_OP_GROUPED_CONV,
    .backend = "cpu",
    .shapes = "any",
    .order = "taps, newest first",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx2",
};
