/* The logarithm in double where an f32 result is rounded from it once. */
#ifndef TS_OP_LOG_DOUBLE_H
#define TS_OP_LOG_DOUBLE_H

#include <math.h>

enum { TS_LOG_TERMS = 24 };

/* log(x) = k ln2 + 2 (s + s^3/3 + s^5/5 + ...), x = m 2^k, s = (m - 1) / (m + 1): x >= 1. */
static inline double ts_log_double(double x)
{
    int k;
    double m = frexp(x, &k), s, z, sum = 0;
    if (m < 0.70710678118654752) {
        m *= 2;
        k--;
    }
    s = (m - 1) / (m + 1);
    z = s * s;
    for (int i = TS_LOG_TERMS; i >= 0; i--)
        sum = sum * z + 1.0 / (2 * i + 1);
    return k * 0x1.62e42fefa39efp-1 + 2 * s * sum;
}

#endif
