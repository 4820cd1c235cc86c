#include "schedule.h"

#include "cpu/avx512/avx512.h"
#include "cpu/vector/top_slots.h"

const ts_schedule ts_top_slots_avx512 = {
    .name = "top_slots.avx512",
    .op = TS_OP_TOP_SLOTS,
    .backend = "cpu",
    .shapes = "any",
    .order = "by value, by id",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx512",
};
