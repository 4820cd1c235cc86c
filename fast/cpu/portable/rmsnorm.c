#include "schedule.h"

#include "cpu/portable/dot32.h"
#include "cpu/portable/elementary.h"

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_rmsnorm_args *a = args;
    for (int64_t t = begin; t < end; t++) {
        const float *x = a->x + t * a->n;
        float *y = a->y + t * a->n;
        float r = ts_fast_rsqrt(ts_fast_dot32(x, x, a->n) / (float)a->n + (float)a->eps);
        for (int64_t i = 0; i < a->n; i++)
            y[i] = (x[i] * r) * (a->centred ? 1.0f + a->w[i] : a->w[i]);
    }
}

const ts_schedule ts_rmsnorm_portable = {
    .name = "rmsnorm.portable",
    .op = TS_OP_RMSNORM,
    .backend = "cpu",
    .shapes = "any",
    .order = "dot32",
    .profile = "any",
    .exposes = "",
    .run = run,
};
