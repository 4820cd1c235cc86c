/* How the DOT4 and the exact kernels of the R9700 engine LSE walk K: one wave of 32 lanes per output, K in chunks
 * (a 32-bit word of weights each). */
#ifndef TS_OP_LSE_H
#define TS_OP_LSE_H

#include <stdint.h>
#include "lanes.h"

enum { TS_LSE_CHUNKS = 4 }; /* of a lane at a time */

/* Piece i of what `lane` takes of the chunks cb .. ce-1: its first chunk, and how many. As long as 128 are left
 * lane l takes four in a row, 4l of them on; of the rest, every 32nd one at a time. 0: no more. */
static inline int64_t ts_lse_piece(int64_t cb, int64_t ce, int lane, int64_t i, int64_t *first)
{
    const int64_t step = TS_LSE_CHUNKS * TS_LANES, whole = (ce - cb) / step;
    if (i < whole) {
        *first = cb + step * i + TS_LSE_CHUNKS * lane;
        return TS_LSE_CHUNKS;
    }
    *first = cb + step * whole + TS_LANES * (i - whole) + lane;
    return *first < ce ? 1 : 0;
}

#endif
