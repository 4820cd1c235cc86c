/* Order dot32, cut so that the chains can be continued over pieces of k: 32
 * independent chains are four AVX2 registers, or two of AVX-512. */
#ifndef TS_FAST_DOT32_H
#define TS_FAST_DOT32_H

#include <stdint.h>
#include <string.h>
#include "cpu/portable/widen.h"
#include "num/convert.h"
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
    memcpy(lane, s, sizeof s);
    for (int l = 0; k + l < n; l++)
        lane[l] = ts_fma(a[k + l], b[k + l], lane[l]);
}

/* lane[l] + lane[l+16], then the butterfly, of which every lane gets the same tree. */
static inline float ts_lanes_sum(const float *lane)
{
    float s[16], s1[8], s2[4];
    for (int l = 0; l < 16; l++)
        s[l] = lane[l] + lane[l + 16];
    for (int l = 0; l < 8; l++)
        s1[l] = s[2 * l] + s[2 * l + 1];
    for (int l = 0; l < 4; l++)
        s2[l] = s1[2 * l] + s1[2 * l + 1];
    return (s2[0] + s2[1]) + (s2[2] + s2[3]);
}

static inline float ts_fast_dot32(const float *a, const float *b, int64_t n)
{
    float lane[TS_LANES] = {0};
    ts_lanes_add(lane, a, b, n);
    return ts_lanes_sum(lane);
}

/* b widened on the way: for one row, where nobody would share the widened copy. */
static inline float ts_fast_dot32_bf16(const float *a, const uint16_t *b, int64_t n)
{
    float s[TS_LANES] = {0};
    int64_t k = 0;
    for (; k + TS_LANES <= n; k += TS_LANES)
        for (int l = 0; l < TS_LANES; l++)
            s[l] = ts_fma(a[k + l], ts_bf16_to_f32(b[k + l]), s[l]);
    for (int l = 0; k + l < n; l++)
        s[l] = ts_fma(a[k + l], ts_bf16_to_f32(b[k + l]), s[l]);
    return ts_lanes_sum(s);
}

static inline float ts_fast_dot32_f16(const float *a, const uint16_t *b, int64_t n)
{
    float s[TS_LANES] = {0};
    int64_t k = 0;
    for (; k + TS_LANES <= n; k += TS_LANES)
        for (int l = 0; l < TS_LANES; l++)
            s[l] = ts_fma(a[k + l], ts_fast_half(b[k + l]), s[l]);
    for (int l = 0; k + l < n; l++)
        s[l] = ts_fma(a[k + l], ts_fast_half(b[k + l]), s[l]);
    return ts_lanes_sum(s);
}

#endif
