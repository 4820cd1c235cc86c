#include "schedule.h"

#include <float.h>

#include "cpu/neon/neon.h"

enum { RUN = 64, SLICE = 16 };

/* max |x|, NaN ignored: a comparison with one is false, where the instruction for a maximum may keep it. */
static float magnitude(const float *x)
{
    vec most = v_all(0.0f);
    for (int k = 0; k < RUN; k += VEC) {
        vec m = v_abs(v_load(x + k));
        most = v_select(v_less(most, m), m, most);
    }
    return v_largest(most);
}

static void codes(const float *x, float inv, int8_t *code)
{
    vec p[4];
    vmask finite[4];
    for (int j = 0; j < 4; j++) {
        p[j] = v_mul(v_load(x + VEC * j), v_all(inv));
        finite[j] = v_less_equal(v_abs(p[j]), v_all(FLT_MAX));
    }
    v_store_codes(code, p, finite);
}

/* A slice per lane, each ascending from its first element. */
static float sum(const float *x)
{
    vec s = v_all(0.0f);
    float slice[4];
    for (int k = 0; k < SLICE; k += VEC) {
        vec r[4] = {v_load(x + k), v_load(x + SLICE + k), v_load(x + 2 * SLICE + k), v_load(x + 3 * SLICE + k)};
        v_transpose(r);
        s = k == 0 ? r[0] : v_add(s, r[0]);
        for (int i = 1; i < VEC; i++)
            s = v_add(s, r[i]);
    }
    v_store(slice, s);
    return ((slice[0] + slice[1]) + slice[2]) + slice[3];
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_quantize_a64_args *a = args;
    int64_t groups = a->K / RUN;
    for (int64_t g = begin * groups; g < end * groups; g++) {
        const float *x = a->x + g * RUN;
        float amax = magnitude(x), inv = 127.0f / (amax > 1e-30f ? amax : 1e-30f);
        for (int k = 0; k < RUN; k += 4 * VEC)
            codes(x + k, inv, a->code + g * RUN + k);
        a->step[g] = amax * 0x1.020408p-7f;
        a->sum[g] = sum(x);
    }
}

const ts_schedule ts_quantize_a64_neon = {
    .name = "quantize_a64.neon",
    .op = TS_OP_QUANTIZE_A64,
    .backend = "cpu",
    .shapes = "any",
    .order = "A64",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "neon",
};
