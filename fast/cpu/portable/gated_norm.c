#include "schedule.h"

#include "cpu/portable/dot32.h"
#include "cpu/portable/elementary.h"

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_gated_norm_args *a = args;
    for (int64_t u = begin; u < end; u++) {
        const float *x = a->x + u * a->D, *z = a->z + u * a->D;
        float *y = a->y + u * a->D;
        float r = ts_fast_rsqrt(ts_fast_dot32(x, x, a->D) / (float)a->D + (float)a->eps);
        for (int64_t i = 0; i < a->D; i++)
            y[i] = ((x[i] * r) * a->w[i]) * ts_fast_silu(z[i]);
    }
}

const ts_schedule ts_gated_norm_portable = {
    .name = "gated_norm.portable",
    .op = TS_OP_GATED_NORM,
    .backend = "cpu",
    .shapes = "any",
    .order = "dot32",
    .profile = "any",
    .exposes = "",
    .run = run,
};
