#include "schedule.h"

#include "cpu/avx512/widen.h"

/* Four outputs at once share the loads of x, and are four streams from memory. */
enum { OUTPUTS = 4, AHEAD = 1024 /* bytes */ };

/* Rows of weights, `stride` bytes apart. */
typedef struct {
    const uint8_t *p;
    int64_t stride;
} rows;

typedef struct {
    vec low[OUTPUTS], high[OUTPUTS];
} lanes;

/* 32 columns of all outputs. */
TS_INLINE void plain32(ts_weight_format f, const float *x, rows w, lanes *s)
{
    const vec a = v_load(x), b = v_load(x + VEC);
    const int64_t half = ts_bytes32(f, 0) / 2;
    for (int c = 0; c < OUTPUTS; c++) {
        const uint8_t *p = w.p + c * w.stride;
        ts_prefetch_l1(p + AHEAD);
        s->low[c] = v_fma(a, ts_widen16(f, p), s->low[c]);
        s->high[c] = v_fma(b, ts_widen16(f, p + half), s->high[c]);
    }
}

/* The last columns, fewer than 32. */
TS_INLINE void tail(ts_weight_format f, const float *x, rows w, int64_t columns, lanes *s)
{
    const int64_t half = ts_bytes32(f, 0) / 2;
    const vmask first = ts_lanes_of(0, columns), second = ts_lanes_of(0, columns - VEC);
    const vec a = v_load_some(x, first), b = v_load_some(x + VEC, second);
    for (int c = 0; c < OUTPUTS; c++) {
        const uint8_t *p = w.p + c * w.stride;
        s->low[c] = ts_fma16_of(first, a, ts_widen16_of(f, p, first), s->low[c]);
        s->high[c] = ts_fma16_of(second, b, ts_widen16_of(f, p + half, second), s->high[c]);
    }
}

TS_INLINE void plain(ts_weight_format f, const ts_matmul_args *a, rows w, lanes *s)
{
    int64_t k = 0;
    for (; k + TS_LANES32 <= a->K; k += TS_LANES32, w.p += ts_bytes32(f, 0))
        plain32(f, a->x + k, w, s);
    if (k < a->K)
        tail(f, a->x + k, w, a->K - k, s);
}

/* MLX, group by group; the scales of output c are `c * next` behind those at g. */
static void coded(const ts_matmul_args *a, const ts_codes32 *codes, rows w, int64_t g, int64_t next, lanes *s)
{
    const ts_matrix *m = a->w;
    for (int64_t k = 0; k < a->K; g++) {
        vec scale[OUTPUTS], bias[OUTPUTS];
        for (int c = 0; c < OUTPUTS; c++) {
            scale[c] = ts_widen_aux(m->aux, m->scales, g + c * next);
            bias[c] = ts_widen_aux(m->aux, m->biases, g + c * next);
        }
        for (int64_t end = k + m->group; k < end; k += TS_LANES32, w.p += ts_bytes32(TS_W_MLX, m->bits)) {
            const vec low = v_load(a->x + k), high = v_load(a->x + k + VEC);
            for (int c = 0; c < OUTPUTS; c++) {
                const uint8_t *p = w.p + c * w.stride;
                ts_prefetch_l1(p + AHEAD);
                s->low[c] = v_fma(low, ts_widen_codes16(codes, p, 0, scale[c], bias[c]), s->low[c]);
                s->high[c] = v_fma(high, ts_widen_codes16(codes, p, 1, scale[c], bias[c]), s->high[c]);
            }
        }
    }
}

/* Four outputs from n on, or one of them, four times over. */
static void outputs(const ts_matmul_args *a, const ts_codes32 *codes, int64_t n, int64_t count)
{
    const ts_matrix *m = a->w;
    const int64_t size = m->K * ts_bytes32(m->format, m->bits) / TS_LANES32, all = count == OUTPUTS;
    const rows w = {(const uint8_t *)m->data + n * size, all * size};
    float y[OUTPUTS];
    lanes s;
    for (int c = 0; c < OUTPUTS; c++)
        s.low[c] = s.high[c] = ts_zero16();
    if (m->format == TS_W_BF16)
        plain(TS_W_BF16, a, w, &s);
    else if (m->format == TS_W_F16)
        plain(TS_W_F16, a, w, &s);
    else if (m->format == TS_W_F32)
        plain(TS_W_F32, a, w, &s);
    else
        coded(a, codes, w, n * (m->K / m->group), all * (m->K / m->group), &s);
    for (int c = 0; c < OUTPUTS; c++)
        s.low[c] = v_add(s.low[c], s.high[c]);
    ts_sums16(s.low, y);
    memcpy(a->y + n, y, (size_t)count * sizeof *y);
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_matmul_args *a = args;
    const ts_codes32 codes = ts_codes32_of(a->w->format == TS_W_MLX ? a->w->bits : 8);
    int64_t n = begin;
    for (; n + OUTPUTS <= end; n += OUTPUTS)
        outputs(a, &codes, n, OUTPUTS);
    for (; n < end; n++)
        outputs(a, &codes, n, 1);
}

static bool accepts(const void *args)
{
    const ts_matmul_args *a = args;
    return a->T == 1 && ts_widens32(a->w);
}

const ts_schedule ts_matmul_dot32_m1_avx512 = {
    .name = "matmul_dot32.m1.avx512",
    .op = TS_OP_MATMUL_DOT32,
    .backend = "cpu",
    .shapes = "M1",
    .order = "dot32",
    .profile = "any",
    .exposes = "",
    .accepts = accepts,
    .run = run,
    .isa = "avx512",
};
