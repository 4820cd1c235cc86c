/* Packing a64-16r of MLX weights, group 64, 4 or 8 bits, for instructions that multiply 4 neighbouring bytes of
 * 8 or 16 lanes at once.
 *
 * A panel is 16 rows, lane = row; per group one block, the blocks of a panel in order of their groups:
 *   4 bits   8 lines of 64 bytes; byte 4*row + b of line j holds code k = 4j + b of its row (low nibble) and
 *            k = 32 + 4j + b (high nibble)
 *   8 bits   16 lines; byte 4*row + b of line j holds code k = 4j + b
 *   then     scales and biases: bf16 as 16 words (scale << 16 | bias); f16 and f32 as 16 f32 scales, 16 f32 biases
 * Rows past N are zero. */
#ifndef TS_FAST_PACK_A64_H
#define TS_FAST_PACK_A64_H

#include "schedule.h"

enum { TS_A64_ROWS = 16, TS_A64_GROUP = 64, TS_A64_LINE = 64 };

extern const ts_packing ts_pack_a64;

/* Bytes of the codes of a block, and of a whole block. */
static inline int64_t ts_a64_codes(const ts_matrix *w)
{
    return TS_A64_ROWS * TS_A64_GROUP * w->bits / 8;
}
static inline int64_t ts_a64_block(const ts_matrix *w)
{
    return ts_a64_codes(w) + (w->aux == TS_BF16 ? TS_A64_LINE : 2 * TS_A64_LINE);
}

/* Slices of order A64S8: the largest power of two <= min(8, groups). */
static inline int64_t ts_a64_slices(int64_t groups)
{
    int64_t S = 1;
    while (S < 8 && 2 * S <= groups)
        S *= 2;
    return S;
}

#endif
