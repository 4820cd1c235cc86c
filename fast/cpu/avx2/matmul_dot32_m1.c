#include "schedule.h"

#include "cpu/avx2/widen.h"
#include "num/real.h"

enum { LANES = 32, QUARTERS = 4, PAIR = 2, AHEAD = 1024 /* bytes */ };

/* The chains of two rows of weights, `stride` bytes apart, over the columns that are whole lots of 32. */
TS_INLINE void pair(ts_weight_format f, const float *x, int64_t K, const uint8_t *w, int64_t stride, float *lane)
{
    const int64_t size = ts_bytes1(f);
    vec s[QUARTERS], r[QUARTERS];
    for (int q = 0; q < QUARTERS; q++)
        s[q] = r[q] = ts_zero8();
    for (int64_t k = 0; k + LANES <= K; k += LANES, w += LANES * size) {
        ts_prefetch(w + AHEAD);
        ts_prefetch(w + stride + AHEAD);
        for (int q = 0; q < QUARTERS; q++) {
            vec v = v_load(x + k + q * VEC);
            s[q] = v_fma(v, ts_widen8(f, w + q * VEC * size), s[q]);
            r[q] = v_fma(v, ts_widen8(f, w + stride + q * VEC * size), r[q]);
        }
    }
    for (int q = 0; q < QUARTERS; q++) {
        v_store(lane + q * VEC, s[q]);
        v_store(lane + LANES + q * VEC, r[q]);
    }
}

/* The columns that are left, then lane + 16, then the butterfly. */
static float finish(const ts_matmul_args *a, int64_t n, float *lane)
{
    float w[LANES];
    int64_t k = a->K / LANES * LANES;
    ts_widen(a->w, n, k, a->K - k, w);
    for (int64_t l = 0; k + l < a->K; l++)
        lane[l] = ts_fma(a->x[k + l], w[l], lane[l]);
    vec low = v_add(v_load(lane), v_load(lane + 2 * VEC));
    vec high = v_add(v_load(lane + VEC), v_load(lane + 3 * VEC));
    return ts_sum8(low) + ts_sum8(high);
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_matmul_args *a = args;
    const int64_t stride = a->K * ts_bytes1(a->w->format);
    for (int64_t n = begin; n < end; n += PAIR) {
        const uint8_t *w = (const uint8_t *)a->w->data + n * stride;
        const int64_t next = n + 1 < end ? stride : 0;
        float lane[PAIR * LANES];
        if (a->w->format == TS_W_BF16)
            pair(TS_W_BF16, a->x, a->K, w, next, lane);
        else if (a->w->format == TS_W_F16)
            pair(TS_W_F16, a->x, a->K, w, next, lane);
        else
            pair(TS_W_F32, a->x, a->K, w, next, lane);
        a->y[n] = finish(a, n, lane);
        if (n + 1 < end)
            a->y[n + 1] = finish(a, n + 1, lane + LANES);
    }
}

static bool accepts(const void *args)
{
    const ts_matmul_args *a = args;
    return a->T == 1 && a->w->format < TS_W_MLX;
}

const ts_schedule ts_matmul_dot32_m1_avx2 = {
    .name = "matmul_dot32.m1.avx2",
    .op = TS_OP_MATMUL_DOT32,
    .backend = "cpu",
    .shapes = "M1",
    .order = "dot32",
    .profile = "any",
    .exposes = "",
    .accepts = accepts,
    .run = run,
    .isa = "avx2",
};
