/* Multiplication by 2^n in two exact-or-once-rounded halves, so that no factor
 * leaves the normal range however close to overflow or underflow m 2^n lies. */
#ifndef TS_OP_POW2_H
#define TS_OP_POW2_H

#include "num/convert.h"

/* fl(fl(m * 2^h) * 2^(n-h)), h = n/2 truncated towards zero; |n| <= 252 */
static inline float ts_scale_pow2(float m, int n)
{
    int h = n / 2;
    float lower = ts_float((uint32_t)(h + 127) << 23);
    float upper = ts_float((uint32_t)(n - h + 127) << 23);
    return m * lower * upper;
}

#endif
