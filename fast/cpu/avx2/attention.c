#include "schedule.h"

#include "cpu/avx2/avx2.h"
#include "cpu/vector/attention.h"

const ts_schedule ts_attention_avx2 = {
    .name = "attention.avx2",
    .op = TS_OP_ATTENTION,
    .backend = "cpu",
    .shapes = "any",
    .order = "split128",
    .profile = "any",
    .exposes = "m,l,acc",
    .accepts = accepts,
    .run = run,
    .isa = "avx2",
};
