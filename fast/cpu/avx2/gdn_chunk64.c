#include "schedule.h"

#include "cpu/avx2/avx2.h"
#include "cpu/vector/gdn_chunk64.h"

const ts_schedule ts_gdn_chunk64_avx2 = {
    .name = "gdn_chunk64.avx2",
    .op = TS_OP_GDN_CHUNK64,
    .backend = "cpu",
    .shapes = "any",
    .order = "gdn-chunk64",
    .profile = "any",
    .exposes = "",
    .accepts = accepts,
    .run = run,
    .isa = "avx2",
};
