#include "schedule.h"

#include "cpu/avx2/avx2.h"
#include "cpu/vector/top_slots.h"

const ts_schedule ts_top_slots_avx2 = {
    .name = "top_slots.avx2",
    .op = TS_OP_TOP_SLOTS,
    .backend = "cpu",
    .shapes = "any",
    .order = "by value, by id",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx2",
};
