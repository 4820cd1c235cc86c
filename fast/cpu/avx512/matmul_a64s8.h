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

/* o[R][16] = the slice's chains of R <= 8 or R = 12 rows and the 16 outputs of a panel. */
void ts_avx512_a64_slice(int R, const ts_matrix *w, const uint8_t *panel, const ts_a64_x *x, ts_a64_span span,
                         float *o);

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
