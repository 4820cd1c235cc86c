#include "schedule.h"

#include <float.h>
#include "cpu/avx2/avx2.h"

enum { RUN = 64 };

static void quantize(const float *x, int8_t *code, float *step, float *sum)
{
    vec amax = ts_zero8();
    float s[4];
    for (int k = 0; k < RUN; k += VEC)
        amax = v_max(ts_abs8(v_load(x + k)), amax); /* skips NaN */
    float largest = v_largest(amax);
    vec inv = v_all(127.0f / (largest > 1e-30f ? largest : 1e-30f));
    for (int k = 0; k < RUN; k += 2 * VEC) {
        vec a = v_mul(v_load(x + k), inv), b = v_mul(v_load(x + k + VEC), inv);
        ts_store_bytes16(code + k, ts_round8(a, FLT_MAX), ts_round8(b, FLT_MAX));
    }
    *step = largest * 0x1.020408p-7f;
    ts_chains16(x, s);
    *sum = ((s[0] + s[1]) + s[2]) + s[3];
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_quantize_a64_args *a = args;
    int64_t groups = a->K / RUN;
    for (int64_t g = begin * groups; g < end * groups; g++)
        quantize(a->x + g * RUN, a->code + g * RUN, a->step + g, a->sum + g);
}

const ts_schedule ts_quantize_a64_avx2 = {
    .name = "quantize_a64.avx2",
    .op = TS_OP_QUANTIZE_A64,
    .backend = "cpu",
    .shapes = "any",
    .order = "A64",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx2",
};
