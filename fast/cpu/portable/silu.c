#include "schedule.h"

#include "cpu/portable/elementary.h"

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_map_args *a = args;
    for (int64_t i = begin; i < end; i++)
        a->y[i] = ts_fast_silu(a->x[i]);
}

const ts_schedule ts_silu_portable = {
    .name = "silu.portable",
    .op = TS_OP_SILU,
    .backend = "cpu",
    .shapes = "any",
    .order = "elementwise",
    .profile = "any",
    .exposes = "",
    .run = run,
};
