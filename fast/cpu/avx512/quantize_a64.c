#include "schedule.h"

#include <float.h>
#include "cpu/avx512/avx512.h"

enum { RUN = 64, SLICES = 4 };

static void quantize(const float *x, int8_t *code, float *step, float *sum)
{
    vec v[SLICES], amax = ts_zero16();
    float s[SLICES];
    for (int i = 0; i < SLICES; i++) {
        v[i] = v_load(x + i * VEC);
        amax = v_max(ts_abs16(v[i]), amax); /* skips NaN */
    }
    float largest = v_largest(amax);
    vec inv = v_all(127.0f / (largest > 1e-30f ? largest : 1e-30f));
    for (int i = 0; i < SLICES; i++) {
        vec p = v_mul(v[i], inv);
        vmask finite = v_less_equal(ts_abs16(p), v_all(FLT_MAX));
        ts_store_bytes16(code + i * VEC, ts_round16_of(finite, p));
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
