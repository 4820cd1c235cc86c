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

/* A block, or most of it. Straight lines: gcc leaves loops of prefetches as they are. */
TS_INLINE void ts_a64_prefetch_l1(int bits, const uint8_t *block)
{
    ts_prefetch4_l1(block);
    ts_prefetch4_l1(block + 4 * TS_A64_LINE);
    if (bits == 8) {
        ts_prefetch4_l1(block + 8 * TS_A64_LINE);
        ts_prefetch4_l1(block + 12 * TS_A64_LINE);
    }
    ts_prefetch_l1(block + TS_A64_LINE * bits * 2);
}
TS_INLINE void ts_a64_prefetch_l2(int bits, const uint8_t *block)
{
    ts_prefetch4_l2(block);
    ts_prefetch4_l2(block + 4 * TS_A64_LINE);
    if (bits == 8) {
        ts_prefetch4_l2(block + 8 * TS_A64_LINE);
        ts_prefetch4_l2(block + 12 * TS_A64_LINE);
    }
    v_prefetch(block + TS_A64_LINE * bits * 2);
}

/* Scales and biases of a block. */
TS_INLINE void ts_a64_aux(int bits, ts_dtype dtype, const uint8_t *block, vec *scale, vec *bias)
{
    const uint8_t *aux = block + TS_A64_ROWS * TS_A64_GROUP * bits / 8;
    ivec line = ts_load_line(aux);
    if (dtype == TS_BF16) {
        *scale = ts_upper_bf16(line);
        *bias = ts_lower_bf16(line);
    } else {
        *scale = v_load((const float *)(const void *)aux);
        *bias = v_load((const float *)(const void *)(aux + TS_A64_LINE));
    }
}

/* One group of one row joins the chain o. */
TS_INLINE vec ts_a64_chain(vec scale, vec bias, ivec D, float step, float sum, vec o)
{
    o = v_fma(v_mul(scale, v_all(step)), ts_to_f32x16(D), o);
    return v_fma(bias, v_all(sum), o);
}

/* Line j of a block meets R rows of x; c[R..] are second accumulators, if `other` says so. */
TS_INLINE void ts_a64_line(int R, int bits, int other, const uint8_t *block, const int8_t *code, int64_t K, int j,
                           ivec *c)
{
    ivec line = ts_load_line(block + TS_A64_LINE * j);
    ivec u = bits == 4 ? ts_low_nibbles(line) : line;
    ivec v = bits == 4 ? ts_high_nibbles(line) : ts_load_line(block + TS_A64_LINE * (8 + j));
    for (int r = 0; r < R; r++)
        c[r] = ts_dot4(c[r], u, ts_all_bytes4(code + r * K + 4 * j));
    for (int r = 0; r < R; r++)
        c[other + r] = ts_dot4(c[other + r], v, ts_all_bytes4(code + r * K + 32 + 4 * j));
}

/* D of R rows: every row meets all 64 codes of 16 outputs. Up to 8 rows have two accumulators each, or the adds
 * would wait for each other. Written out, because a loop would move all of them around every time. */
TS_INLINE void ts_a64_dots(int R, int bits, const uint8_t *block, const int8_t *code, int64_t K, ivec *D)
{
    ivec c[2 * TS_A64_TALLEST];
    const int other = R <= TS_A64_PAIRED ? R : 0;
    for (int r = 0; r < R + other; r++)
        c[r] = ts_zero_i16();
    ts_a64_line(R, bits, other, block, code, K, 0, c);
    ts_a64_line(R, bits, other, block, code, K, 1, c);
    ts_a64_line(R, bits, other, block, code, K, 2, c);
    ts_a64_line(R, bits, other, block, code, K, 3, c);
    ts_a64_line(R, bits, other, block, code, K, 4, c);
    ts_a64_line(R, bits, other, block, code, K, 5, c);
    ts_a64_line(R, bits, other, block, code, K, 6, c);
    ts_a64_line(R, bits, other, block, code, K, 7, c);
    for (int r = 0; r < R; r++)
        D[r] = other ? ts_add_i16(c[r], c[other + r]) : c[r];
}

/* Slice z of n values o joins the balanced tree. part[l] is a sum over 2^l slices that waits for its neighbour, at
 * most one a level; after the last slice o holds the whole sum. */
TS_INLINE void ts_a64_join(int64_t z, int64_t n, float *o, float *const part[TS_A64_LEVELS])
{
    int l = 0;
    for (; z >> l & 1; l++)
        for (int64_t i = 0; i < n; i += VEC)
            v_store(o + i, v_add(v_load(part[l] + i), v_load(o + i)));
    if (l < TS_A64_LEVELS)
        memcpy(part[l], o, (size_t)n * sizeof *o);
}

#endif
