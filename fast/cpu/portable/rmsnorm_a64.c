#include "schedule.h"

#include "cpu/portable/dot32.h"
#include "cpu/portable/elementary.h"

enum { RUN = 64 };

extern const ts_schedule ts_quantize_a64_portable;

/* Run i of row t: normalised in registers' reach, then quantised. */
static void run_of(const ts_rmsnorm_a64_args *a, int64_t t, int64_t i, float r)
{
    const float *x = a->x + t * a->n + i, *w = a->w + i;
    int64_t at = t * a->n + i;
    float y[RUN];
    for (int j = 0; j < RUN; j++)
        y[j] = (x[j] * r) * (a->centred ? 1.0f + w[j] : w[j]);
    ts_quantize_a64_portable.run(
        &(ts_quantize_a64_args){1, RUN, y, a->code + at, a->step + at / RUN, a->sum + at / RUN}, 0, 1);
    if (a->y)
        memcpy(a->y + at, y, sizeof y);
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_rmsnorm_a64_args *a = args;
    for (int64_t t = begin; t < end; t++) {
        const float *x = a->x + t * a->n;
        float r = ts_fast_rsqrt(ts_fast_dot32(x, x, a->n) / (float)a->n + (float)a->eps);
        for (int64_t i = 0; i < a->n; i += RUN)
            run_of(a, t, i, r);
    }
}

const ts_schedule ts_rmsnorm_a64_portable = {
    .name = "rmsnorm_a64.portable",
    .op = TS_OP_RMSNORM_A64,
    .backend = "cpu",
    .shapes = "any",
    .order = "dot32, A64",
    .profile = "any",
    .exposes = "y",
    .run = run,
};
