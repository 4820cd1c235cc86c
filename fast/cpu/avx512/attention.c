#include "schedule.h"

#include "cpu/avx512/avx512.h"
#include "cpu/vector/attention.h"

const ts_schedule ts_attention_avx512 = {
    .name = "attention.avx512",
    .op = TS_OP_ATTENTION,
    .backend = "cpu",
    .shapes = "any",
    .order = "split128",
    .profile = "any",
    .exposes = "m,l,acc",
    .accepts = accepts,
    .run = run,
    .isa = "avx512",
};
