#include "schedule.h"

#include <float.h>
#include <math.h>

enum { RUN = 64, SLICE = 16 };

/* max |x|, NaN ignored: a comparison with one is false. Order free, so 16 lanes. */
static float magnitude(const float *x)
{
    float lane[SLICE] = {0};
    for (int k = 0; k < RUN; k += SLICE)
        for (int l = 0; l < SLICE; l++) {
            float m = fabsf(x[k + l]);
            lane[l] = m > lane[l] ? m : lane[l];
        }
    for (int width = SLICE / 2; width >= 1; width /= 2)
        for (int l = 0; l < width; l++)
            lane[l] = lane[l + width] > lane[l] ? lane[l + width] : lane[l];
    return lane[0];
}

/* The four slices side by side, each ascending from its first element. */
static float sum(const float *x)
{
    float s[4] = {x[0], x[SLICE], x[2 * SLICE], x[3 * SLICE]};
    for (int k = 1; k < SLICE; k++)
        for (int i = 0; i < 4; i++)
            s[i] += x[i * SLICE + k];
    return ((s[0] + s[1]) + s[2]) + s[3];
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_quantize_a64_args *a = args;
    int64_t groups = a->K / RUN;
    for (int64_t g = begin * groups; g < end * groups; g++) {
        const float *x = a->x + g * RUN;
        float amax = magnitude(x);
        float inv = 127.0f / (amax > 1e-30f ? amax : 1e-30f);
        for (int k = 0; k < RUN; k++) {
            float p = x[k] * inv;
            a->code[g * RUN + k] = (int8_t)(int)rintf(fabsf(p) <= FLT_MAX ? p : 0.0f);
        }
        a->step[g] = amax * 0x1.020408p-7f;
        a->sum[g] = sum(x);
    }
}

const ts_schedule ts_quantize_a64_portable = {
    .name = "quantize_a64.portable",
    .op = TS_OP_QUANTIZE_A64,
    .backend = "cpu",
    .shapes = "any",
    .order = "A64",
    .profile = "any",
    .exposes = "",
    .run = run,
};
