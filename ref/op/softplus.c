#include "num/coef.h"
#include "op.h"
#if TS_PRECISION == 32
#include "pow2.h"
#endif

/* y = log(1 + exp(x)), and x itself above 20 (the threshold is part of the function, in either
 * precision). log(1 + exp(x)) = max(x, 0) + log1p(e), e = exp(-|x|).
 *
 * Every step is one rounding; a variable with suffix l carries what the one without it lost, so that
 * e, the quotient s and the final sum are known to about twice the precision:
 *   e >= exp(-15):  log1p(e) = 2 atanh(s) = 2 (s + s z Q(z)), s = e / (2 + e), z = s^2
 *   below:          log1p(e) = e - e^2/2, and underflow is gradual */
#if TS_PRECISION == 64
ts_real ts_softplus(ts_real x)
{
    return x > (ts_real)ts_coef_softplus[0] ? x : log1p(exp(x));
}
#else
/* exp(a) = (h + hl) 2^n, for exp_range[0] <= a <= 0; returns n */
static int exp_pair(ts_real a, ts_real *h, ts_real *hl)
{
    ts_real n = ts_rint(a * ts_coef_log2e);
    ts_real r1 = ts_fma(n, -ts_coef_ln2[0], a);
    ts_real r = ts_fma(n, -ts_coef_ln2[1], r1);
    ts_real rl = ts_fma(n, -ts_coef_ln2[1], r1 - r);
    ts_real p = ts_coef_exp[0];
    for (int i = 1; i < 6; i++)
        p = ts_fma(p, r, ts_coef_exp[i]);
    ts_real q = (r * r) * p;
    ts_real t = r + q;
    ts_real tl = ((r - t) + q) + rl;
    *h = 1 + t;
    *hl = ((1 - *h) + t) + tl;
    return (int)n;
}

/* atanh((e + el) / (2 + e + el)) = s + *w */
static ts_real half_log1p(ts_real e, ts_real el, ts_real *w)
{
    ts_real d = 2 + e;
    ts_real dl = ((2 - d) + e) + el;
    ts_real s = e / d;
    ts_real m = ts_fma(-s, d, e);
    ts_real sl = ((m + el) - s * dl) / d;
    ts_real z = s * s;
    ts_real Q = ts_coef_atanh[0];
    for (int i = 1; i < 5; i++)
        Q = ts_fma(Q, z, ts_coef_atanh[i]);
    *w = ts_fma(s * z, Q, sl);
    return s;
}

ts_real ts_softplus(ts_real x)
{
    if (isnan(x) || x > ts_coef_softplus[0])
        return x;
    if (x < ts_coef_exp_range[0])
        return 0;
    ts_real h, hl, w, a = -ts_fabs(x);
    int n = exp_pair(a, &h, &hl);
    if (a < ts_coef_softplus[1]) {
        ts_real half = (ts_real)0.5 * ts_scale_pow2(h, n);
        ts_real v = ts_scale_pow2(h + (hl - half * h), n);
        return x > 0 ? x + v : v;
    }
    ts_real s = half_log1p(ts_scale_pow2(h, n), ts_scale_pow2(hl, n), &w);
    if (x <= 0)
        return 2 * (s + w);
    ts_real b = 2 * s;
    ts_real u = x + b;
    ts_real ul = x >= b ? (x - u) + b : (b - u) + x;
    return u + (ul + 2 * w);
}
#endif
