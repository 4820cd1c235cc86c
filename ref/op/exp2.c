#include "op.h"
#if TS_PRECISION == 32
#include "num/coef.h"
#include "pow2.h"
#endif

/* y = 2^x = 2^n exp(r), n = rint(x), r = (x - n) ln2, exp(r) as in exp.
 *
 * Rounded: x - n is exact; r is a product with the high part of ln2, then an fma with the low one; from there as
 * exp. A NaN returns itself; overflow is +inf from 128 on, underflow is gradual and +0 below -150. */
#if TS_PRECISION == 64
ts_real ts_exp2(ts_real x)
{
    return exp2(x);
}
#else
ts_real ts_exp2(ts_real x)
{
    if (isnan(x))
        return x;
    if (x >= 128)
        return INFINITY;
    if (x < -150)
        return 0;
    ts_real n = ts_rint(x), d = x - n, r = ts_fma(d, ts_coef_ln2[1], d * ts_coef_ln2[0]);
    ts_real p = ts_coef_exp[0];
    for (int i = 1; i < 6; i++)
        p = ts_fma(p, r, ts_coef_exp[i]);
    ts_real t = ts_fma(r * r, p, r);
    return ts_scale_pow2(1 + t, (int)n);
}
#endif
