#include "schedule.h"

#include "cpu/avx512/avx512.h"
#include "cpu/vector/elementary.h"
#include "cpu/vector/map.h"

static void run(const void *args, int64_t begin, int64_t end)
{
    v_map(args, begin, end, v_silu);
}

const ts_schedule ts_silu_avx512 = {
    .name = "silu.avx512",
    .op = TS_OP_SILU,
    .backend = "cpu",
    .shapes = "any",
    .order = "elementwise",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx512",
};
