#include "schedule.h"

#include "cpu/neon/neon.h"
#include "cpu/vector/top_slots.h"

const ts_schedule ts_top_slots_neon = {
    .name = "top_slots.neon",
    .op = TS_OP_TOP_SLOTS,
    .backend = "cpu",
    .shapes = "any",
    .order = "by value, by id",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "neon",
};
