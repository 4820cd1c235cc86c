#include "schedule.h"

#include "cpu/avx2/avx2.h"
#include "cpu/vector/elementary.h"
#include "cpu/vector/map.h"

static inline vec swiglu(vec a, vec b)
{
    return v_mul(v_silu(a), b);
}

static void run(const void *args, int64_t begin, int64_t end)
{
    v_zip(args, begin, end, swiglu);
}

const ts_schedule ts_swiglu_avx2 = {
    .name = "swiglu.avx2",
    .op = TS_OP_SWIGLU,
    .backend = "cpu",
    .shapes = "any",
    .order = "elementwise",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx2",
};
