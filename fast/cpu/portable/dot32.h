/* Order dot32, cut so that the chains can be continued over pieces of k: 32
 * independent chains are four AVX2 registers, or two of AVX-512. */
#ifndef TS_FAST_DOT32_H
#define TS_FAST_DOT32_H

#include <stdint.h>
#include <string.h>
#include "num/real.h"

enum { TS_LANES = 32 };

/* Continues the chains with n more products. k of a[0] must be a multiple of 32, and so must n
 * except in the last call. The local copy keeps the lanes in registers. */
static inline void ts_lanes_add(float *lane, const float *a, const float *b, int64_t n)
{
    float s[TS_LANES];
    memcpy(s, lane, sizeof s);
    int64_t k = 0;
    for (; k + TS_LANES <= n; k += TS_LANES)
        for (int l = 0; l < TS_LANES; l++)
            s[l] = ts_fma(a[k + l], b[k + l], s[l]);
    for (int l = 0; k + l < n; l++)
        s[l] = ts_fma(a[k + l], b[k + l], s[l]);
    memcpy(lane, s, sizeof s);
}

/* lane[l] + lane[l+16], then the butterfly, of which every lane gets the same tree. */
static inline float ts_lanes_sum(const float *lane)
{
    float s[TS_LANES / 2];
    for (int l = 0; l < 16; l++)
        s[l] = lane[l] + lane[l + 16];
    for (int width = 8; width >= 1; width /= 2)
        for (int l = 0; l < width; l++)
            s[l] = s[2 * l] + s[2 * l + 1];
    return s[0];
}

static inline float ts_fast_dot32(const float *a, const float *b, int64_t n)
{
    float lane[TS_LANES] = {0};
    ts_lanes_add(lane, a, b, n);
    return ts_lanes_sum(lane);
}

#endif
