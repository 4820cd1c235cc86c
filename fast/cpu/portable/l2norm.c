#include "schedule.h"

#include "cpu/portable/dot32.h"
#include "cpu/portable/elementary.h"

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_l2norm_args *a = args;
    float scale = (float)a->scale;
    for (int64_t u = begin; u < end; u++) {
        const float *x = a->x + u * a->D;
        float *y = a->y + u * a->D;
        float r = ts_fast_rsqrt(ts_fast_dot32(x, x, a->D) + (float)a->eps);
        for (int64_t i = 0; i < a->D; i++)
            y[i] = (x[i] * r) * scale;
    }
}

const ts_schedule ts_l2norm_portable = {
    .name = "l2norm.portable",
    .op = TS_OP_L2NORM,
    .backend = "cpu",
    .shapes = "any",
    .order = "dot32",
    .profile = "any",
    .exposes = "",
    .run = run,
};
