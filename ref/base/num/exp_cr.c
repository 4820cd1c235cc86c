/* exp in double, at most 0.6 ulp off, then one rounding to f32.
 *
 *   x = k ln2 + r, |r| <= ln2/2;  exp(x) = 2^k exp(r)
 *
 * ln2 is split in two doubles. x is an f32, so k times the first part cancels against it without rounding: r_hi is
 * a multiple of 2^-53 below 1/2. exp(r) is the Taylor series to r^14 (the next term is below 2^-62), the 1 added
 * last and by an exact two-sum, so that the only large error is the last rounding. Correctly rounded for every f32
 * (tests/base/test_exp_cr.c holds the inputs that come closest to a tie). */
#include "num/exp_cr.h"

#include <math.h>

#include "num/coef.h"

/* exp(hi + lo) for |hi| <= ln2/2 and |lo| < 2^-47. */
static double exp_reduced(double hi, double lo)
{
    double q = ts_coef_exp_cr[TS_EXP_CR_LAST];
    for (int i = TS_EXP_CR_LAST - 1; i >= 3; i--)
        q = fma(q, hi, ts_coef_exp_cr[i]);
    double square = hi * hi;
    double tail = fma(q * hi, square, 0.5 * square);
    double head = 1.0 + hi;
    double lost = hi - (head - 1.0);
    return head + (lost + fma(lo, head + tail, tail));
}

double ts_exp_unrounded(float x)
{
    if (isnan(x))
        return (double)x;
    if (x > 89.0f)
        return (double)INFINITY;
    if (x < -104.0f)
        return 0.0;
    double k = rint((double)x * ts_coef_exp_cr_inv_ln2);
    double hi = fma(-k, ts_coef_exp_cr_ln2[0], (double)x);
    double lo = -k * ts_coef_exp_cr_ln2[1];
    return ldexp(exp_reduced(hi, lo), (int)k);
}

float ts_exp_cr(float x)
{
    return (float)ts_exp_unrounded(x);
}
