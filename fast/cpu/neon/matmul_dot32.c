#include "schedule.h"

#include "cpu/neon/dot32.h"

/* Two outputs at a time, 16 chains: two rows of x that share the weights, or two rows of weights that share x. */
enum { DOTS = 2, ROWS = 32 }; /* ROWS of x meet a row of weights while it is in the cache */

typedef struct {
    int64_t t, n;
} place;

/* Weights at .. at+n-1 of the matrix widened, n <= VEC; the other lanes are +0. */
typedef vec load(const void *w, int64_t at, int64_t n);

static inline vec load_f32(const void *w, int64_t at, int64_t n)
{
    const float *p = (const float *)w + at;
    return n < VEC ? v_load_first(p, n) : v_load(p);
}

static inline const uint16_t *halves(const void *w, int64_t at, int64_t n, uint16_t few[VEC])
{
    const uint16_t *p = (const uint16_t *)w + at;
    return n < VEC ? memcpy(few, p, (size_t)n * sizeof *p) : p;
}

static inline vec load_bf16(const void *w, int64_t at, int64_t n)
{
    uint16_t few[VEC] = {0};
    return v_load_bf16(halves(w, at, n, few));
}

static inline vec load_f16(const void *w, int64_t at, int64_t n)
{
    uint16_t few[VEC] = {0};
    return v_load_f16(halves(w, at, n, few));
}

/* The places share a row or an output (or both): what is equal is loaded once. */
static inline __attribute__((always_inline)) void dots(const ts_matmul_args *a, place p, place q, load *from)
{
    const float *x[DOTS] = {a->x + p.t * a->K, a->x + q.t * a->K};
    const int64_t at[DOTS] = {p.n * a->K, q.n * a->K};
    vec s[DOTS][CHAINS];
    int64_t k = 0;
    for (int i = 0; i < CHAINS; i++)
        s[0][i] = s[1][i] = v_all(0.0f);
    for (; k + CHAINS * VEC <= a->K; k += CHAINS * VEC)
        for (int i = 0; i < CHAINS; i++)
            for (int d = 0; d < DOTS; d++) {
                int64_t j = k + i * VEC;
                s[d][i] = v_fma(v_load(x[d] + j), from(a->w->data, at[d] + j, VEC), s[d][i]);
            }
    for (int i = 0; i < CHAINS && k < a->K; i++, k += VEC)
        for (int d = 0; d < DOTS; d++) {
            int64_t n = a->K - k < VEC ? a->K - k : VEC;
            s[d][i] = v_fma_first(n, load_f32(x[d], k, n), from(a->w->data, at[d] + k, n), s[d][i]);
        }
    a->y[p.t * a->N + p.n] = v_lanes_sum(s[0]);
    a->y[q.t * a->N + q.n] = v_lanes_sum(s[1]);
}

/* Outputs begin .. end-1 of `rows` rows from t: rows in pairs, the outputs of a last one in pairs. */
static inline __attribute__((always_inline)) void block(const ts_matmul_args *a, int64_t t, int64_t rows,
                                                        int64_t begin, int64_t end, load *from)
{
    int64_t paired = rows - rows % 2, last = t + paired;
    for (int64_t n = begin; n < end; n++)
        for (int64_t r = t; r < last; r += 2)
            dots(a, (place){r, n}, (place){r + 1, n}, from);
    if (paired < rows)
        for (int64_t n = begin; n < end; n += 2)
            dots(a, (place){last, n}, (place){last, n + 1 < end ? n + 1 : n}, from);
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_matmul_args *a = args;
    for (int64_t t = 0; t < a->T; t += ROWS) {
        int64_t rows = a->T - t < ROWS ? a->T - t : ROWS;
        if (a->w->format == TS_W_BF16)
            block(a, t, rows, begin, end, load_bf16);
        else if (a->w->format == TS_W_F16)
            block(a, t, rows, begin, end, load_f16);
        else
            block(a, t, rows, begin, end, load_f32);
    }
}

static bool accepts(const void *args)
{
    return ((const ts_matmul_args *)args)->w->format < TS_W_MLX;
}

const ts_schedule ts_matmul_dot32_neon = {
    .name = "matmul_dot32.neon",
    .op = TS_OP_MATMUL_DOT32,
    .backend = "cpu",
    .shapes = "any",
    .order = "dot32",
    .profile = "any",
    .exposes = "",
    .accepts = accepts,
    .run = run,
    .isa = "neon",
};
