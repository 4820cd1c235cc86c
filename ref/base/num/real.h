/* ts_real: the precision axis. The rooms ref/op and ref/model are compiled
 * twice, with TS_PRECISION 32 (float, every rounding as declared) and 64
 * (double, the mathematics); everything else sees float.
 * ts_fma is the only way a fused multiply-add is ever written. */
#ifndef TS_NUM_REAL_H
#define TS_NUM_REAL_H

#include <math.h>

#ifndef TS_PRECISION
#define TS_PRECISION 32
#endif

#if TS_PRECISION == 64
typedef double ts_real;
static inline ts_real ts_fma(ts_real a, ts_real b, ts_real c)
{
    return fma(a, b, c);
}
static inline ts_real ts_sqrt(ts_real x)
{
    return sqrt(x);
}
static inline ts_real ts_fabs(ts_real x)
{
    return fabs(x);
}
static inline ts_real ts_rint(ts_real x)
{
    return rint(x);
}
#else
typedef float ts_real;
static inline ts_real ts_fma(ts_real a, ts_real b, ts_real c)
{
    return fmaf(a, b, c);
}
static inline ts_real ts_sqrt(ts_real x)
{
    return sqrtf(x);
}
static inline ts_real ts_fabs(ts_real x)
{
    return fabsf(x);
}
static inline ts_real ts_rint(ts_real x)
{
    return rintf(x);
}
#endif

#endif
