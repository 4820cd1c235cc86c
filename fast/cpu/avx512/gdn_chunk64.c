#include "schedule.h"

#include "cpu/avx512/avx512.h"
#include "cpu/vector/gdn_chunk64.h"

const ts_schedule ts_gdn_chunk64_avx512 = {
    .name = "gdn_chunk64.avx512",
    .op = TS_OP_GDN_CHUNK64,
    .backend = "cpu",
    .shapes = "any",
    .order = "gdn-chunk64",
    .profile = "any",
    .exposes = "",
    .accepts = accepts,
    .run = run,
    .isa = "avx512",
};
