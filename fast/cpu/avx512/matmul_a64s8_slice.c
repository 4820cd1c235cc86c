#include "cpu/avx512/matmul_a64s8.h"

enum { AHEAD = 12 }; /* blocks, into L2; the next one into L1 */

/* Group g joins the chains of R rows. */
TS_INLINE void group(int R, int bits, ts_dtype aux, const uint8_t *block, const ts_a64_x *x, int64_t g, vec *o)
{
    ivec D[TS_A64_TALLEST];
    vec scale, bias;
    ts_a64_dots(R, bits, block, x->code + g * TS_A64_GROUP, x->K, D);
    ts_a64_aux(bits, aux, block, &scale, &bias);
    for (int r = 0; r < R; r++)
        o[r] = ts_a64_chain(scale, bias, D[r], x->step[r * x->G + g], x->sum[r * x->G + g], o[r]);
}

/* Compiled for every height, so that all sums stay in registers. */
TS_INLINE void slice(int R, int bits, const ts_matrix *w, const uint8_t *panel, const ts_a64_x *x, ts_a64_span span,
                     float *out)
{
    const int64_t size = ts_a64_block(w);
    const uint8_t *block = panel + span.begin * size;
    vec o[TS_A64_TALLEST];
    for (int r = 0; r < R; r++)
        o[r] = ts_zero16();
    for (int64_t g = span.begin; g < span.end; g++, block += size) {
        ts_a64_prefetch_l1(bits, block + size);
        ts_a64_prefetch_l2(bits, block + AHEAD * size);
        group(R, bits, w->aux, block, x, g, o);
    }
    for (int r = 0; r < R; r++)
        v_store(out + r * TS_A64_ROWS, o[r]);
}

TS_INLINE void by_height(int R, int bits, const ts_matrix *w, const uint8_t *panel, const ts_a64_x *x,
                         ts_a64_span span, float *o)
{
    switch (R) {
    case 1:
        slice(1, bits, w, panel, x, span, o);
        break;
    case 2:
        slice(2, bits, w, panel, x, span, o);
        break;
    case 3:
        slice(3, bits, w, panel, x, span, o);
        break;
    case 4:
        slice(4, bits, w, panel, x, span, o);
        break;
    case 5:
        slice(5, bits, w, panel, x, span, o);
        break;
    case 6:
        slice(6, bits, w, panel, x, span, o);
        break;
    case 7:
        slice(7, bits, w, panel, x, span, o);
        break;
    case 8:
        slice(8, bits, w, panel, x, span, o);
        break;
    default:
        slice(TS_A64_TALLEST, bits, w, panel, x, span, o);
        break;
    }
}

void ts_avx512_a64_slice(int R, const ts_matrix *w, const uint8_t *panel, const ts_a64_x *x, ts_a64_span span,
                         float *o)
{
    if (w->bits == 4)
        by_height(R, 4, w, panel, x, span, o);
    else
        by_height(R, 8, w, panel, x, span, o);
}
