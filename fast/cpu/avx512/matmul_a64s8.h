/* What the AVX-512 schedules of matmul_a64s8 share: 16 outputs are the 16 lanes (packing a64-16r), and the order's
 * chains over groups run in every lane by itself. */
#ifndef TS_FAST_AVX512_MATMUL_A64S8_H
#define TS_FAST_AVX512_MATMUL_A64S8_H

#include "cpu/avx512/avx512.h"
#include "cpu/portable/pack_a64.h"

enum { TS_A64_PAIRED = 8, TS_A64_TALLEST = 12, TS_A64_LEVELS = 3 };

/* Rows of x from some t on. */
typedef struct {
    const int8_t *code;
    const float *step, *sum;
    int64_t K, G;
} ts_a64_x;

/* Groups begin <= g < end of one slice. */
typedef struct {
    int64_t begin, end;
} ts_a64_span;

TS_INLINE ts_a64_x ts_a64_rows_from(const ts_matmul_a64s8_args *a, int64_t t)
{
    int64_t G = a->K / TS_A64_GROUP;
    return (ts_a64_x){a->code + t * a->K, a->step + t * G, a->sum + t * G, a->K, G};
}

TS_INLINE ts_a64_span ts_a64_slice_of(int64_t G, int64_t S, int64_t z)
{
    return (ts_a64_span){z * G / S, (z + 1) * G / S};
}

TS_INLINE bool ts_a64_is_packed(const ts_matmul_a64s8_args *a)
{
    return a->w->packed && a->w->packing == &ts_pack_a64;
}

TS_INLINE const uint8_t *ts_a64_panel(const ts_matrix *w, int64_t n)
{
    return (const uint8_t *)w->packed + n / TS_A64_ROWS * (w->K / TS_A64_GROUP) * ts_a64_block(w);
}

/* D of R rows: every row meets all 64 codes of 16 outputs. Up to 8 rows have two accumulators each, or the adds
 * would wait for each other. */
TS_INLINE void ts_a64_dots(int R, int bits, const uint8_t *block, const int8_t *code, int64_t K, ts_i32x16 *D)
{
    ts_i32x16 c[2 * TS_A64_TALLEST];
    const int other = R <= TS_A64_PAIRED ? R : 0;
    for (int r = 0; r < R + other; r++)
        c[r] = ts_zero_i16();
    for (int j = 0; j < 8; j++) {
        ts_i32x16 line = ts_load_line(block + TS_A64_LINE * j);
        ts_i32x16 u = bits == 4 ? ts_low_nibbles(line) : line;
        ts_i32x16 v = bits == 4 ? ts_high_nibbles(line) : ts_load_line(block + TS_A64_LINE * (8 + j));
        for (int r = 0; r < R; r++)
            c[r] = ts_dot4(c[r], u, ts_all_bytes4(code + r * K + 4 * j));
        for (int r = 0; r < R; r++)
            c[other + r] = ts_dot4(c[other + r], v, ts_all_bytes4(code + r * K + 32 + 4 * j));
    }
    for (int r = 0; r < R; r++)
        D[r] = other ? ts_add_i16(c[r], c[other + r]) : c[r];
}

TS_INLINE void ts_a64_aux(const uint8_t *aux, ts_dtype dtype, ts_f32x16 *scale, ts_f32x16 *bias)
{
    ts_i32x16 line = ts_load_line(aux);
    if (dtype == TS_BF16) {
        *scale = ts_upper_bf16(line);
        *bias = ts_lower_bf16(line);
    } else {
        *scale = ts_load16((const float *)(const void *)aux);
        *bias = ts_load16((const float *)(const void *)(aux + TS_A64_LINE));
    }
}

/* Group g joins the chains of R rows. */
TS_INLINE void ts_a64_group(int R, int bits, ts_dtype aux, const uint8_t *block, const ts_a64_x *x, int64_t g,
                            ts_f32x16 *o)
{
    ts_i32x16 D[TS_A64_TALLEST];
    ts_f32x16 scale, bias;
    ts_a64_dots(R, bits, block, x->code + g * TS_A64_GROUP, x->K, D);
    ts_a64_aux(block + TS_A64_ROWS * TS_A64_GROUP * bits / 8, aux, &scale, &bias);
    for (int r = 0; r < R; r++) {
        ts_f32x16 step = ts_mul16(scale, ts_all16(x->step[r * x->G + g]));
        o[r] = ts_fma16(bias, ts_all16(x->sum[r * x->G + g]), ts_fma16(step, ts_to_f32x16(D[r]), o[r]));
    }
}

/* o[R][16] = the slice's chains of R <= 8 or R = 12 rows and the 16 outputs of a panel. */
void ts_avx512_a64_slice(int R, const ts_matrix *w, const uint8_t *panel, const ts_a64_x *x, ts_a64_span span,
                         float *o);

/* Slice z of n values o joins the balanced tree. part[l] is a sum over 2^l slices that waits for its neighbour, at
 * most one a level; after the last slice o holds the whole sum. */
TS_INLINE void ts_a64_join(int64_t z, int64_t n, float *o, float *const part[TS_A64_LEVELS])
{
    int l = 0;
    for (; z >> l & 1; l++)
        for (int64_t i = 0; i < n; i += TS_F32X16)
            ts_store16(o + i, ts_add16(ts_load16(part[l] + i), ts_load16(o + i)));
    if (l < TS_A64_LEVELS)
        memcpy(part[l], o, (size_t)n * sizeof *o);
}

#endif
