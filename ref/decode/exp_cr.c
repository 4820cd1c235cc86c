/* exp in double, at most 0.6 ulp off, then one rounding to f32.
 *
 *   x = k ln2 + r, |r| <= ln2/2;  exp(x) = 2^k exp(r)
 *
 * ln2 is split in two doubles. x is an f32, so k*LN2_HI cancels against it without rounding: r_hi is a
 * multiple of 2^-53 below 1/2. exp(r) is the Taylor series to r^14 (the next term is below 2^-62), the 1
 * added last and by an exact two-sum, so that the only large error is the last rounding. Correctly
 * rounded for every f32 (tests/decode/test_exp_cr.c holds the inputs that come closest to a tie). */
#include "exp_cr.h"

#include <math.h>

static const double INV_LN2 = 0x1.71547652b82fep+0;
static const double LN2_HI = 0x1.62e42fefa39efp-1;
static const double LN2_LO = 0x1.abc9e3b39803fp-56;

enum { LAST = 14 };
static const double INV_FACTORIAL[LAST + 1] = {
    1.0 / 1,        1.0 / 1,         1.0 / 2,          1.0 / 6,           1.0 / 24,
    1.0 / 120,      1.0 / 720,       1.0 / 5040,       1.0 / 40320,       1.0 / 362880,
    1.0 / 3628800,  1.0 / 39916800,  1.0 / 479001600,  1.0 / 6227020800,  1.0 / 87178291200,
};

/* exp(hi + lo) for |hi| <= ln2/2 and |lo| < 2^-47. */
static double exp_reduced(double hi, double lo) {
    double q = INV_FACTORIAL[LAST];
    for (int i = LAST - 1; i >= 3; i--) q = fma(q, hi, INV_FACTORIAL[i]);
    double square = hi * hi;
    double tail = fma(q * hi, square, 0.5 * square);
    double head = 1.0 + hi;
    double lost = hi - (head - 1.0);
    return head + (lost + fma(lo, head + tail, tail));
}

double ts_exp_unrounded(float x) {
    if (isnan(x)) return (double)x;
    if (x > 89.0f) return (double)INFINITY;
    if (x < -104.0f) return 0.0;
    double k = rint((double)x * INV_LN2);
    double hi = fma(-k, LN2_HI, (double)x);
    double lo = -k * LN2_LO;
    return ldexp(exp_reduced(hi, lo), (int)k);
}

float ts_exp_cr(float x) { return (float)ts_exp_unrounded(x); }
