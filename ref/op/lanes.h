/* The 32 accumulators of order dot32, for operations that widen one of the two
 * vectors a piece at a time: start at zero, feed the columns ascending in
 * pieces of 32 (the last may be shorter), then sum. */
#ifndef TS_OP_LANES_H
#define TS_OP_LANES_H

#include <stdint.h>
#include "num/real.h"

enum { TS_LANES = 32 };

static inline int64_t ts_piece(int64_t left, int64_t most)
{
    return left < most ? left : most;
}

/* lane_l = fma(a_l, b_l, lane_l), l < n <= 32 */
static inline void ts_lanes_fma(ts_real lane[TS_LANES], const ts_real *a, const ts_real *b, int64_t n)
{
    if (n == TS_LANES)
        for (int l = 0; l < TS_LANES; l++)
            lane[l] = ts_fma(a[l], b[l], lane[l]);
    else
        for (int64_t l = 0; l < n; l++)
            lane[l] = ts_fma(a[l], b[l], lane[l]);
}

/* The butterfly with masks 1, 2, 4, .. below n as lane 0 sees it (addition commutes, so all lanes agree): a
 * balanced tree over neighbours, n a power of two. Every sum is rounded. */
static inline ts_real ts_butterfly(ts_real *lane, int n)
{
    for (int mask = 1; mask < n; mask *= 2)
        for (int l = 0; l < n; l += 2 * mask)
            lane[l] += lane[l + mask];
    return lane[0];
}

/* lane_l + lane_{l+16}, then the butterfly over 16 lanes. */
static inline ts_real ts_lanes_sum(const ts_real lane[TS_LANES])
{
    ts_real sum[16];
    for (int l = 0; l < 16; l++)
        sum[l] = lane[l] + lane[l + 16];
    return ts_butterfly(sum, 16);
}

#endif
