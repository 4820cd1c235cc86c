#include "schedule.h"

#include "cpu/avx512/avx512.h"
#include "cpu/vector/conv1d.h"

const ts_schedule ts_conv1d_avx512 = {
    .name = "conv1d.avx512",
    .op = TS_OP_CONV1D,
    .backend = "cpu",
    .shapes = "any",
    .order = "taps",
    .profile = "any",
    .exposes = "",
    .accepts = accepts,
    .run = run,
    .isa = "avx512",
};
