#include "schedule.h"

#include "cpu/neon/elementary.h"

static void run(const void *args, int64_t begin, int64_t end)
{
    v_map(args, begin, end, v_rsqrt);
}

const ts_schedule ts_rsqrt_neon = {
    .name = "rsqrt.neon",
    .op = TS_OP_RSQRT,
    .backend = "cpu",
    .shapes = "any",
    .order = "elementwise",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "neon",
};
