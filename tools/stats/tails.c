#include "stats/tails.h"

#include <float.h>
#include <math.h>

/* lgamma without its global sign: arguments are positive. Stirling's series after a shift to x >= 16, where the
 * first term left out is below 1e-17. */
static double log_gamma(double x)
{
    double shift = 1.0;
    while (x < 16.0)
        shift *= x++;
    double s = 1.0 / (x * x);
    double series = (1.0 / 12 - s * (1.0 / 360 - s * (1.0 / 1260 - s * (1.0 / 1680 - s / 1188)))) / x;
    return (x - 0.5) * log(x) - x + 0.91893853320467274178 + series - log(shift);
}

/* Lower regularised incomplete gamma by its series: x < a + 1. */
static double gamma_series(double a, double x)
{
    double term = 1.0 / a, sum = term;
    for (double n = 1.0; term > sum * (DBL_EPSILON / 16); n++) {
        term *= x / (a + n);
        sum += term;
    }
    return sum * exp(a * log(x) - x - log_gamma(a));
}

/* Upper regularised incomplete gamma by Lentz's continued fraction: x >= a + 1. */
static double gamma_fraction(double a, double x)
{
    double b = x + 1.0 - a, c = 1e300, d = 1.0 / b, h = d, step = 0.0;
    for (double n = 1.0; fabs(step - 1.0) > DBL_EPSILON && n < 100000.0; n++) {
        double an = n * (a - n);
        b += 2.0;
        d = 1.0 / (an * d + b);
        c = b + an / c;
        step = c * d;
        h *= step;
    }
    return h * exp(a * log(x) - x - log_gamma(a));
}

double ts_chi2_tail(double x, double df)
{
    if (x <= 0.0)
        return 1.0;
    return x / 2 < df / 2 + 1.0 ? 1.0 - gamma_series(df / 2, x / 2) : gamma_fraction(df / 2, x / 2);
}

double ts_normal_cdf(double z)
{
    return 0.5 * erfc(-z * 0.70710678118654752440);
}

double ts_normal_quantile(double p)
{
    double lo = -40.0, hi = 40.0;
    for (int i = 0; i < 100; i++) {
        double mid = 0.5 * (lo + hi);
        if (ts_normal_cdf(mid) < p)
            lo = mid;
        else
            hi = mid;
    }
    return 0.5 * (lo + hi);
}

/* Continued fraction of the incomplete beta (Lentz), good for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double x, double a, double b)
{
    double c = 1.0, d = 1.0 / (1.0 - (a + b) * x / (a + 1.0)), h = d, step = 0.0;
    for (double m = 1.0; fabs(step - 1.0) > DBL_EPSILON && m < 100000.0; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m));
        d = 1.0 / (1.0 + even * d);
        c = 1.0 + even / c;
        h *= c * d;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0));
        d = 1.0 / (1.0 + odd * d);
        c = 1.0 + odd / c;
        step = c * d;
        h *= step;
    }
    return h;
}

/* Regularised incomplete beta. */
static double beta_share(double x, double a, double b)
{
    if (x <= 0.0 || x >= 1.0)
        return x > 0.0;
    double front = exp(a * log(x) + b * log1p(-x) + log_gamma(a + b) - log_gamma(a) - log_gamma(b));
    if (x < (a + 1.0) / (a + b + 2.0))
        return front * beta_fraction(x, a, b) / a;
    return 1.0 - front * beta_fraction(1.0 - x, b, a) / b;
}

double ts_student_two_sided(double t, double df)
{
    return beta_share(df / (df + t * t), df / 2, 0.5);
}

double ts_student_quantile(double p, double df)
{
    double lo = 0.0, hi = 1.0;
    while (ts_student_two_sided(hi, df) > p && hi < 1e300)
        hi *= 2.0;
    for (int i = 0; i < 100; i++) {
        double mid = 0.5 * (lo + hi);
        if (ts_student_two_sided(mid, df) > p)
            lo = mid;
        else
            hi = mid;
    }
    return hi;
}

/* P(X >= x) = I_p(x, n - x + 1). */
double ts_binomial_tail(uint64_t x, uint64_t n, double p)
{
    if (x == 0)
        return 1.0;
    return x > n ? 0.0 : beta_share(p, (double)x, (double)(n - x) + 1.0);
}

double ts_sign_two_sided(uint64_t b, uint64_t c)
{
    return fmin(1.0, 2.0 * ts_binomial_tail(b > c ? b : c, b + c, 0.5));
}
