#include "schedule.h"

#include "cpu/avx2/avx2.h"
#include "cpu/vector/embed.h"

const ts_schedule ts_embed_avx2 = {
    .name = "embed.avx2",
    .op = TS_OP_EMBED,
    .backend = "cpu",
    .shapes = "any",
    .order = "elementwise",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx2",
};
