#include "check/err.h"

#include "num/convert.h"

static const ts_err one = {1, 0};

/* num / (1 + exp(-x)). Where exp(-x) may overflow the f32 quotient is 0 or less than num / exp(-x),
 * and so is the true one: both lie between 0 and `reach`. */
static ts_err over_one_plus_exp(ts_err num, ts_err x)
{
    ts_err t = ts_err_exp(ts_err_neg(x));
    if (isfinite(t.e) || !isfinite(x.e))
        return ts_err_div(num, ts_err_add(one, t));
    double v = num.v / (1 + exp(-x.v));
    double least = (1 + exp(-x.v - x.e)) * (1 - 4 * TS_ERR_U);
    double reach = (fabs(num.v) + num.e) / least;
    return ts_err_round(v, fabs(v) + reach * (1 + TS_ERR_U), 0, TS_ERR_TINY);
}

ts_err ts_err_sigmoid(ts_err x)
{
    return over_one_plus_exp(one, x);
}

ts_err ts_err_silu(ts_err x)
{
    return over_one_plus_exp(x, x);
}

ts_err ts_err_rsqrt(ts_err x)
{
    return ts_err_div(one, ts_err_sqrt(x));
}

/* The slope, sigmoid, grows with x: at most sigmoid(x + e) on the interval. Above 20 either side may
 * return x itself, exp(-x) below the true value; 19 leaves room for x on two sides of the threshold. */
ts_err ts_err_softplus(ts_err x)
{
    double v = isnan(x.v) ? x.v : fmax(x.v, 0) + log1p(exp(-fabs(x.v)));
    if (!isfinite(v))
        return ts_err_special(v, x, one, one);
    double slope = 1 / (1 + exp(-x.v - x.e)), threshold = x.v > 19 ? exp(-x.v) : 0;
    return ts_err_round(v, slope * x.e + threshold, TS_ULP_SOFTPLUS * 2 * TS_ERR_U,
                        TS_ULP_SOFTPLUS * 2 * TS_ERR_TINY);
}

ts_err ts_err_dot32_sum(const ts_err_dot32 *d)
{
    ts_err s[16];
    for (int l = 0; l < 16; l++)
        s[l] = ts_err_add(d->lane[l], d->lane[l + 16]);
    for (int mask = 1; mask < 16; mask *= 2) /* lane 0 of the butterfly */
        for (int l = 0; l < 16; l += 2 * mask)
            s[l] = ts_err_add(s[l], s[l + mask]);
    return s[0];
}

ts_err ts_err_squares(const float *x, int64_t n)
{
    ts_err_dot32 d = {0};
    for (int64_t k = 0; k < n; k++)
        ts_err_dot32_term(&d, k, ts_err_exact(x[k]), ts_err_exact(x[k]));
    return ts_err_dot32_sum(&d);
}

static double to_bf16(double x)
{
    return (double)ts_bf16_to_f32(ts_f64_to_bf16(x));
}

static double to_f16(double x)
{
    return (double)ts_f16_to_f32(ts_f64_to_f16(x));
}

static ts_err stored(ts_err a, double (*narrow)(double))
{
    double reach = a.e * TS_ERR_WIDEN;
    if (!isfinite(a.v) || !isfinite(a.e))
        return (ts_err){narrow(a.v), a.e};
    double low = narrow(a.v - reach), high = narrow(a.v + reach);
    return (ts_err){narrow(a.v), low == high ? 0 : 2 * (high - low)};
}

ts_err ts_err_bf16(ts_err a)
{
    return stored(a, to_bf16);
}

ts_err ts_err_f16(ts_err a)
{
    return stored(a, to_f16);
}
