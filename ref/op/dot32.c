#include "lanes.h"
#include "op.h"

/* sum_k a_k b_k in order dot32: lane l is the fma chain over k = l, l+32, ... from +0 (a k that does not
 * exist is skipped, not multiplied by zero), then the fixed tree of ts_lanes_sum. n = 0 gives +0.
 * a, b [n]. Rounded: every fma, every sum of the tree. */
ts_real ts_dot32(const ts_real *a, const ts_real *b, int64_t n)
{
    ts_real lane[TS_LANES] = {0};
    for (int64_t k = 0; k < n; k += TS_LANES)
        ts_lanes_fma(lane, a + k, b + k, ts_piece(n - k, TS_LANES));
    return ts_lanes_sum(lane);
}
