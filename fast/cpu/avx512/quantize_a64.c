#include "schedule.h"

#include <float.h>
#include "cpu/avx512/avx512.h"

enum { RUN = 64, SLICES = 4 };

static void quantize(const float *x, int8_t *code, float *step, float *sum)
{
    ts_f32x16 v[SLICES], amax = ts_zero16();
    float s[SLICES];
    for (int i = 0; i < SLICES; i++) {
        v[i] = ts_load16(x + i * TS_F32X16);
        amax = ts_max16(ts_abs16(v[i]), amax); /* skips NaN */
    }
    float largest = ts_largest16(amax);
    ts_f32x16 inv = ts_all16(127.0f / (largest > 1e-30f ? largest : 1e-30f));
    for (int i = 0; i < SLICES; i++) {
        ts_f32x16 p = ts_mul16(v[i], inv);
        ts_mask16 finite = ts_at_most16(ts_abs16(p), ts_all16(FLT_MAX));
        ts_store_bytes16(code + i * TS_F32X16, ts_round16_of(finite, p));
    }
    *step = largest * 0x1.020408p-7f;
    ts_chains16(v, s);
    *sum = ((s[0] + s[1]) + s[2]) + s[3];
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_quantize_a64_args *a = args;
    int64_t groups = a->K / RUN;
    for (int64_t g = begin * groups; g < end * groups; g++)
        quantize(a->x + g * RUN, a->code + g * RUN, a->step + g, a->sum + g);
}

const ts_schedule ts_quantize_a64_avx512 = {
    .name = "quantize_a64.avx512",
    .op = TS_OP_QUANTIZE_A64,
    .backend = "cpu",
    .shapes = "any",
    .order = "A64",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "avx512",
};
