#include "schedule.h"

#include "cpu/avx512/avx512.h"
#include "cpu/vector/grouped_conv.h"

const ts_schedule ts_grouped_conv_avx512 = {
    .name = "grouped_conv.avx512",
    .op = TS_OP_GROUPED_CONV,
    .backend = "cpu",
    .shapes = "any",
    .order = "taps, newest first",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx512",
};
