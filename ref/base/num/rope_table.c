#include "num/rope_table.h"

#include <math.h>
#include <string.h>

#include "num/coef.h"
#include "num/convert.h"

/* Everything here is a double-double: an unevaluated sum hi + lo with |lo| at
 * most half an ulp of hi, good for about 100 bits. A double made from it is then
 * wrong only if the true value lies within about 2^-45 ulp of a tie. */
typedef struct {
    double hi, lo;
} dd;

/* k, the number of quarter turns, must be an exact integer. */
static const double max_angle = 0x1p52;

enum { EXP_TERMS = 26, TRIG_TERMS = 15 }; /* first omitted term below 2^-115 */

static dd two_sum(double a, double b)
{
    double s = a + b, t = s - a;
    return (dd){s, (a - (s - t)) + (b - t)};
}

static dd quick_sum(double a, double b) /* |a| >= |b| */
{
    double s = a + b;
    return (dd){s, b - (s - a)};
}

static dd two_prod(double a, double b)
{
    double p = a * b;
    return (dd){p, fma(a, b, -p)};
}

static dd add_d(dd a, double b)
{
    dd s = two_sum(a.hi, b);
    return quick_sum(s.hi, s.lo + a.lo);
}

static dd mul_d(dd a, double b)
{
    dd p = two_prod(a.hi, b);
    return quick_sum(p.hi, fma(a.lo, b, p.lo));
}

static dd mul(dd a, dd b)
{
    dd p = two_prod(a.hi, b.hi);
    return quick_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

static dd div_d(dd a, double b)
{
    double q = a.hi / b;
    return quick_sum(q, (fma(-q, b, a.hi) + a.lo) / b);
}

/* e^y = 2^k e^r, |r| <= ln2 / 2, the Taylor series from the innermost term outwards. */
static dd exp_dd(dd y)
{
    double k = rint(y.hi / ts_coef_rope_ln2[0]);
    dd r = y, sum = {1, 0};
    for (int i = 0; i < 3; i++)
        r = add_d(r, -k * ts_coef_rope_ln2[i]);
    for (int n = EXP_TERMS; n >= 1; n--)
        sum = add_d(div_d(mul(sum, r), n), 1);
    return (dd){ldexp(sum.hi, (int)k), ldexp(sum.lo, (int)k)};
}

/* Newton on e^L = x. Each step squares the error, so three are enough for any
 * first guess that is good to four digits. */
static dd log_dd(double x)
{
    dd log_x = {log(x), 0};
    for (int i = 0; i < 3; i++) {
        dd inverse = exp_dd((dd){-log_x.hi, -log_x.lo});
        log_x = add_d(log_x, add_d(mul_d(inverse, x), -1).hi);
    }
    return log_x;
}

/* Adds x to the expansion e[n] (increasing, non-overlapping parts) without error. */
static void grow(double *e, int *n, double x)
{
    for (int i = 0; i < *n; i++) {
        dd s = two_sum(x, e[i]);
        e[i] = s.lo;
        x = s.hi;
    }
    e[(*n)++] = x;
}

/* r = x - k pi/2, |r| <= pi/4. x can agree with k pi/2 to 60 bits: all terms are
 * summed exactly first, and r keeps its relative precision. */
static dd reduce(double x, int *quadrant)
{
    double k = rint(x / ts_coef_half_pi[0]), e[7];
    int n = 0;
    grow(e, &n, x);
    for (int i = 0; i < 3; i++) {
        dd p = two_prod(-k, ts_coef_half_pi[i]);
        grow(e, &n, p.lo);
        grow(e, &n, p.hi);
    }
    dd r = {0, 0};
    for (int i = 0; i < n; i++)
        r = add_d(r, e[i]);
    *quadrant = (int)((int64_t)k & 3);
    return r;
}

/* 1 - z/(a(a+1)) (1 - z/((a+2)(a+3)) (...)): cos with a = 1, sin / r with a = 2; z = r^2. */
static dd alternating(dd z, int a)
{
    dd sum = {1, 0};
    for (int n = TRIG_TERMS - 1; n >= 0; n--)
        sum = add_d(div_d(mul(sum, z), -(double)((a + 2 * n) * (a + 2 * n + 1))), 1);
    return sum;
}

static void cos_sin(double x, dd *c, dd *s)
{
    if (!(fabs(x) < max_angle)) { /* theta below 2^-28: no number rather than a wrong one */
        *c = *s = (dd){(double)NAN, 0};
        return;
    }
    int quadrant;
    dd r = reduce(x, &quadrant), z = mul(r, r);
    dd even = alternating(z, 1), odd = mul(alternating(z, 2), r);
    dd minus_even = {-even.hi, -even.lo}, minus_odd = {-odd.hi, -odd.lo};
    const dd turn[4] = {even, minus_odd, minus_even, odd}; /* cos of r + k pi/2; sin is one turn back */
    *c = turn[quadrant];
    *s = turn[(quadrant + 3) & 3];
}

/* One rounding: hi is first rounded to odd (lo decides the last bit), because
 * hi alone may sit on a tie of f32 that hi + lo does not. */
static float to_f32(dd a)
{
    uint64_t u;
    memcpy(&u, &a.hi, sizeof u);
    if (a.lo != 0 && (u & 1) == 0)
        u += (a.hi < 0) == (a.lo < 0) ? 1 : (uint64_t)-1;
    memcpy(&a.hi, &u, sizeof u);
    return (float)a.hi;
}

void ts_rope_inv_freq(double theta, int64_t R, double *inv_freq)
{
    dd log_theta = log_dd(theta);
    for (int64_t i = 0; i < R / 2; i++)
        inv_freq[i] = exp_dd(div_d(mul_d(log_theta, -2.0 * (double)i), (double)R)).hi;
}

void ts_rope_row_f32(const double *inv_freq, int64_t R, int64_t pos, float *c, float *s)
{
    for (int64_t i = 0; i < R / 2; i++) {
        dd cosine, sine;
        cos_sin((double)pos * inv_freq[i], &cosine, &sine);
        c[i] = to_f32(cosine);
        s[i] = to_f32(sine);
    }
}

void ts_rope_row_f64(const double *inv_freq, int64_t R, int64_t pos, double *c, double *s)
{
    for (int64_t i = 0; i < R / 2; i++) {
        dd cosine, sine;
        cos_sin((double)pos * inv_freq[i], &cosine, &sine);
        c[i] = cosine.hi;
        s[i] = sine.hi;
    }
}

static void pair(double angle, float *c, float *s)
{
    dd cosine, sine;
    cos_sin(angle, &cosine, &sine);
    *c = to_f32(cosine);
    *s = to_f32(sine);
}

void ts_rope_freq_hf(double theta, int64_t R, double *freq)
{
    dd log_theta = log_dd(theta);
    for (int64_t i = 0; i < R / 2; i++) {
        float power = to_f32(exp_dd(div_d(mul_d(log_theta, 2.0 * (double)i), (double)R)));
        freq[i] = (double)(1 / power);
    }
}

void ts_rope_freq_ggml(double theta, int64_t R, double *freq)
{
    float scale = to_f32(exp_dd(div_d(mul_d(log_dd(theta), -2.0), (double)R)));
    for (int64_t i = 0; i < R / 2; i++)
        freq[i] = (double)scale;
}

void ts_rope_pair_hf(const double *freq, int64_t i, int64_t pos, float *c, float *s)
{
    float angle = (float)freq[i] * (float)pos;
    pair((double)angle, c, s);
    *c = ts_bf16_to_f32(ts_f32_to_bf16(*c));
    *s = ts_bf16_to_f32(ts_f32_to_bf16(*s));
}

void ts_rope_pair_ggml(const double *freq, int64_t i, int64_t pos, float *c, float *s)
{
    float angle = (float)pos;
    for (int64_t n = 0; n < i; n++)
        angle *= (float)freq[n];
    pair((double)angle, c, s);
}
