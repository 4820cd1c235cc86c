#include "schedule.h"

#include "cpu/portable/widen.h"
#include "num/real.h"

enum { GROUP = 64, SLICES = 8, ROWS = 32 }; /* ROWS share a group's unpacked codes */

static int64_t slices(int64_t groups)
{
    int64_t S = 1;
    while (2 * S <= SLICES && 2 * S <= groups)
        S *= 2;
    return S;
}

/* Exact: at most 64 * 255 * 127. 16-bit factors multiply and add in pairs (pmaddwd). */
static int32_t dot(const int8_t *x, const int16_t *w)
{
    int32_t D = 0;
    for (int k = 0; k < GROUP; k++)
        D += (int16_t)x[k] * w[k];
    return D;
}

/* The balanced tree over S slices. */
static float merge(float *o, int64_t S)
{
    for (; S > 1; S /= 2)
        for (int64_t z = 0; z < S / 2; z++)
            o[z] = o[2 * z] + o[2 * z + 1];
    return o[0];
}

/* Output column n of `rows` rows from t. */
static void column(const ts_matmul_a64s8_args *a, int64_t n, int64_t t, int64_t rows)
{
    int64_t G = a->K / GROUP, S = slices(G);
    float o[ROWS][SLICES] = {{0}};
    int16_t w[GROUP];
    for (int64_t z = 0; z < S; z++)
        for (int64_t g = z * G / S; g < (z + 1) * G / S; g++) {
            ts_widen_codes(a->w, n, g * GROUP, GROUP, w);
            float s = ts_widen_scale(a->w, n, g), b = ts_widen_bias(a->w, n, g);
            for (int64_t r = 0; r < rows; r++) {
                int64_t at = (t + r) * G + g;
                float D = (float)dot(a->code + at * GROUP, w);
                o[r][z] = ts_fma(b, a->sum[at], ts_fma(s * a->step[at], D, o[r][z]));
            }
        }
    for (int64_t r = 0; r < rows; r++)
        a->y[(t + r) * a->N + n] = merge(o[r], S);
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_matmul_a64s8_args *a = args;
    for (int64_t t = 0; t < a->T; t += ROWS)
        for (int64_t n = begin; n < end; n++)
            column(a, n, t, a->T - t < ROWS ? a->T - t : ROWS);
}

const ts_schedule ts_matmul_a64s8_portable = {
    .name = "matmul_a64s8.portable",
    .op = TS_OP_MATMUL_A64S8,
    .backend = "cpu",
    .shapes = "any",
    .order = "A64S8",
    .profile = "any",
    .exposes = "",
    .run = run,
};
