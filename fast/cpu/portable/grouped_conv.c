#include "schedule.h"

/* Tap w of row t over the channels of group g: y = k x or, past the first tap, y + k x. */
static void tap(const ts_grouped_conv_args *a, int64_t t, int64_t w, int64_t g)
{
    const int64_t first = g * a->group, side = a->side * a->W + w;
    const float *base = a->base + side * a->C + first, *x = a->x + (t - w) * a->C + first;
    const float delta = a->delta[(t * 2 * a->W + side) * (a->C / a->group) + g];
    float *y = a->y + t * a->C + first;
    if (w == 0)
        for (int64_t c = 0; c < a->group; c++)
            y[c] = (base[c] + delta) * x[c];
    else
        for (int64_t c = 0; c < a->group; c++)
            y[c] = y[c] + (base[c] + delta) * x[c];
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_grouped_conv_args *a = args;
    for (int64_t t = begin; t < end; t++)
        for (int64_t w = 0; w < a->W && w <= t % a->block; w++)
            for (int64_t g = 0; g < a->C / a->group; g++)
                tap(a, t, w, g);
}

const ts_schedule ts_grouped_conv_portable = {
    .name = "grouped_conv.portable",
    .op = TS_OP_GROUPED_CONV,
    .backend = "cpu",
    .shapes = "any",
    .order = "taps, newest first",
    .profile = "any",
    .exposes = "",
    .run = run,
};
