#include "schedule.h"

#include "cpu/avx2/avx2.h"
#include "cpu/vector/conv1d.h"

const ts_schedule ts_conv1d_avx2 = {
    .name = "conv1d.avx2",
    .op = TS_OP_CONV1D,
    .backend = "cpu",
    .shapes = "any",
    .order = "taps",
    .profile = "any",
    .exposes = "",
    .accepts = accepts,
    .run = run,
    .isa = "avx2",
};
