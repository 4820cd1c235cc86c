#include "schedule.h"

#include "cpu/avx512/avx512.h"
#include "cpu/vector/embed.h"

const ts_schedule ts_embed_avx512 = {
    .name = "embed.avx512",
    .op = TS_OP_EMBED,
    .backend = "cpu",
    .shapes = "any",
    .order = "elementwise",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx512",
};
