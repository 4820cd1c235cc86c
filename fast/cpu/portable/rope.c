#include "schedule.h"

#include <string.h>

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_rope_args *a = args;
    int64_t half = a->R / 2;
    for (int64_t u = begin; u < end; u++) {
        const float *x = a->x + u * a->D;
        const float *c = a->cos + u / a->H * half, *s = a->sin + u / a->H * half;
        float *y = a->y + u * a->D;
        for (int64_t i = 0; i < half; i++) {
            float x0 = x[i], x1 = x[i + half];
            y[i] = x0 * c[i] - x1 * s[i];
            y[i + half] = x1 * c[i] + x0 * s[i];
        }
        memmove(y + a->R, x + a->R, (size_t)(a->D - a->R) * sizeof *y);
    }
}

const ts_schedule ts_rope_portable = {
    .name = "rope.portable",
    .op = TS_OP_ROPE,
    .backend = "cpu",
    .shapes = "any",
    .order = "elementwise",
    .profile = "any",
    .exposes = "",
    .run = run,
};
