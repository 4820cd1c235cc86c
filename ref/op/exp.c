#include "op.h"
#if TS_PRECISION == 32
#include "num/coef.h"
#include "pow2.h"
#endif

/* y = exp(x) = 2^n exp(r), r = x - n ln2, exp(r) = 1 + r + r^2 P(r).
 *
 * Rounded: x*log2e; the two fma of r (n times the high part of ln2 is exact); one fma per
 * coefficient of P; r*r; t; 1 + t; the two multiplications by a power of two (the first exact).
 * A NaN returns itself; overflow is +inf, underflow is gradual and then +0. */
#if TS_PRECISION == 64
ts_real ts_exp(ts_real x)
{
    return exp(x);
}
#else
ts_real ts_exp(ts_real x)
{
    if (isnan(x))
        return x;
    if (x > ts_coef_exp_range[1])
        return INFINITY;
    if (x < ts_coef_exp_range[0])
        return 0;
    ts_real n = ts_rint(x * ts_coef_log2e);
    ts_real r = ts_fma(n, -ts_coef_ln2[0], x);
    r = ts_fma(n, -ts_coef_ln2[1], r);
    ts_real p = ts_coef_exp[0];
    for (int i = 1; i < 6; i++)
        p = ts_fma(p, r, ts_coef_exp[i]);
    ts_real t = ts_fma(r * r, p, r);
    return ts_scale_pow2(1 + t, (int)n);
}
#endif
