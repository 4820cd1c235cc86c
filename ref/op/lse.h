/* How the DOT4 and the exact kernels of the R9700 engine LSE walk K: one wave of 32 lanes per output, K in chunks
 * (a 32-bit word of weights each). */
#ifndef TS_OP_LSE_H
#define TS_OP_LSE_H

#include <stdint.h>

#include "lanes.h"
#include "num/exp_cr.h"
#include "op.h"

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

/* The butterfly over 32 lanes with masks 16, 8, 4, 2, 1 as lane 0 sees it. */
static inline ts_real ts_lse_fold(ts_real lane[TS_LANES])
{
    for (int mask = TS_LANES / 2; mask > 0; mask /= 2)
        for (int l = 0; l < mask; l++)
            lane[l] += lane[l + mask];
    return lane[0];
}

/* The nearest f32 of exp, in ref64 exp: what replays of this engine take for its device's, which is only near. */
static inline ts_real ts_lse_exp(ts_real x)
{
#if TS_PRECISION == 32
    return ts_exp_cr(x);
#else
    return exp(x);
#endif
}

/* 1 / (1 + exp(-x)) */
static inline ts_real ts_lse_sigmoid(ts_real x)
{
    return 1 / (1 + ts_lse_exp(-x));
}

/* r = 1 / sqrt(sum of squares / n + eps). 256 partial sums take every 256th column in turn; they fold to 32 as
 * (P_l + P_l+128 + (P_l+64 + P_l+192)) + (P_l+32 + P_l+160 + (P_l+96 + P_l+224)), then as above. Fewer than 32
 * columns: one ascending chain. */
static inline ts_real ts_lse_root_mean(const ts_real *x, int64_t n, double eps)
{
    ts_real P[8 * TS_LANES] = {0}, sum = 0;
    for (int64_t i = 0; i < n; i++)
        P[i % (8 * TS_LANES)] = ts_fma(x[i], x[i], P[i % (8 * TS_LANES)]);
    for (int l = 0; l < TS_LANES; l++) {
        const ts_real *p = P + l;
        P[l] = ((p[0] + p[128]) + (p[64] + p[192])) + ((p[32] + p[160]) + (p[96] + p[224]));
    }
    if (n >= TS_LANES)
        sum = ts_lse_fold(P);
    for (int64_t i = 0; n < TS_LANES && i < n; i++)
        sum = ts_fma(x[i], x[i], sum);
    return ts_rsqrt(sum / (ts_real)n + (ts_real)eps);
}

#endif
