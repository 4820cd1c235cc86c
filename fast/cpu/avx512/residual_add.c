#include "schedule.h"

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    for (int64_t i = begin; i < end; i++)
        a->y[i] = a->a[i] + a->b[i];
}

const ts_schedule ts_residual_add_avx512 = {
    .name = "residual_add.avx512",
    .op = TS_OP_RESIDUAL_ADD,
    .backend = "cpu",
    .shapes = "any",
    .order = "elementwise",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx512",
};
