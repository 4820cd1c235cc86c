#include "cpu/avx512/matmul_a64s8.h"

enum { AHEAD = 4 }; /* blocks, into L2 */

/* Compiled for every height, so that all sums stay in registers. */
TS_INLINE void slice(int R, int bits, ts_dtype aux, const uint8_t *block, const ts_a64_x *x, ts_a64_span span,
                     float *out)
{
    const int64_t size = TS_A64_ROWS * TS_A64_GROUP * bits / 8 + (aux == TS_BF16 ? TS_A64_LINE : 2 * TS_A64_LINE);
    ts_f32x16 o[TS_A64_TALLEST];
    for (int r = 0; r < R; r++)
        o[r] = ts_zero16();
    block += span.begin * size;
    for (int64_t g = span.begin; g < span.end; g++, block += size) {
        for (int64_t i = 0; i < size; i += TS_A64_LINE)
            ts_prefetch_l2(block + AHEAD * size + i);
        ts_a64_group(R, bits, aux, block, x, g, o);
    }
    for (int r = 0; r < R; r++)
        ts_store16(out + r * TS_A64_ROWS, o[r]);
}

TS_INLINE void by_height(int R, int bits, ts_dtype aux, const uint8_t *panel, const ts_a64_x *x, ts_a64_span span,
                         float *o)
{
    switch (R) {
    case 1:
        slice(1, bits, aux, panel, x, span, o);
        break;
    case 2:
        slice(2, bits, aux, panel, x, span, o);
        break;
    case 3:
        slice(3, bits, aux, panel, x, span, o);
        break;
    case 4:
        slice(4, bits, aux, panel, x, span, o);
        break;
    case 5:
        slice(5, bits, aux, panel, x, span, o);
        break;
    case 6:
        slice(6, bits, aux, panel, x, span, o);
        break;
    case 7:
        slice(7, bits, aux, panel, x, span, o);
        break;
    case 8:
        slice(8, bits, aux, panel, x, span, o);
        break;
    default:
        slice(TS_A64_TALLEST, bits, aux, panel, x, span, o);
        break;
    }
}

void ts_avx512_a64_slice(int R, const ts_matrix *w, const uint8_t *panel, const ts_a64_x *x, ts_a64_span span,
                         float *o)
{
    if (w->bits == 4 && w->aux == TS_BF16)
        by_height(R, 4, TS_BF16, panel, x, span, o);
    else if (w->bits == 4)
        by_height(R, 4, TS_F32, panel, x, span, o);
    else if (w->aux == TS_BF16)
        by_height(R, 8, TS_BF16, panel, x, span, o);
    else
        by_height(R, 8, TS_F32, panel, x, span, o);
}
