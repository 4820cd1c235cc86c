#include "schedule.h"

#include "cpu/avx2/avx2.h"
#include "cpu/vector/elementary.h"
#include "cpu/vector/map.h"

static void run(const void *args, int64_t begin, int64_t end)
{
    v_map(args, begin, end, v_rsqrt);
}

const ts_schedule ts_rsqrt_avx2 = {
    .name = "rsqrt.avx2",
    .op = TS_OP_RSQRT,
    .backend = "cpu",
    .shapes = "any",
    .order = "elementwise",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx2",
};
