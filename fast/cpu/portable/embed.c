#include "schedule.h"

#include "cpu/portable/widen.h"

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_embed_args *a = args;
    for (int64_t t = begin; t < end; t++)
        ts_widen(a->w, a->id[t], 0, a->C, a->y + t * a->C);
}

const ts_schedule ts_embed_portable = {
    .name = "embed.portable",
    .op = TS_OP_EMBED,
    .backend = "cpu",
    .shapes = "any",
    .order = "elementwise",
    .profile = "any",
    .exposes = "",
    .run = run,
};
