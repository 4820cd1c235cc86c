/* Running error analysis (Higham, Accuracy and Stability, 3.3): a value of the
 * double evaluation with an upper bound of how far the f32 evaluation can be
 * from it. A bound written with these reads like the operation itself.
 *
 *   |f32 result - v| <= e,   e = propagated + u (|v| + propagated) + underflow
 *
 * v is finite and e = inf: f32 may overflow on the way, nothing can be said.
 * v is inf or NaN and e = 0: f32 gets the same inf or a NaN too.
 * The derivations, and why rounding in double needs no term here, are in
 * docs/contract.md, section 6. */
#ifndef TS_TOOLS_CHECK_ERR_H
#define TS_TOOLS_CHECK_ERR_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "check/ulp.h"

#define TS_ERR_U 0x1p-24     /* unit roundoff of f32 */
#define TS_ERR_TINY 0x1p-150 /* half the f32 subnormal spacing: product, quotient or fma that underflows */

/* Rounding in double, of e itself too, is covered by widening the final e once (section 6). */
#define TS_ERR_WIDEN (1.0 + 0x1p-20)

typedef struct {
    double v, e;
} ts_err;

/* An f32 input, or a constant that is an f32. */
static inline ts_err ts_err_exact(float x)
{
    return (ts_err){(double)x, 0};
}

/* A double parameter that is rounded once to f32. */
static inline ts_err ts_err_param(double x)
{
    return (ts_err){x, TS_ERR_U * fabs(x) + TS_ERR_TINY};
}

/* Sign and class of the f32 value are those of v. */
static inline bool ts_err_certain(ts_err a)
{
    return a.e == 0 || fabs(a.v) > a.e;
}

/* v is not finite: f32 has the same class if a NaN came in, or if every operand's class is certain. */
static inline ts_err ts_err_special(double v, ts_err a, ts_err b, ts_err c)
{
    bool nan_in = (isnan(a.v) && a.e == 0) || (isnan(b.v) && b.e == 0) || (isnan(c.v) && c.e == 0);
    bool certain = ts_err_certain(a) && ts_err_certain(b) && ts_err_certain(c);
    return (ts_err){v, nan_in || certain ? 0 : (double)INFINITY};
}

/* One rounding of a finite v whose operands' errors propagate to `moved`. */
static inline ts_err ts_err_round(double v, double moved, double relative, double tiny)
{
    double reach = fabs(v) + moved;
    if (!(reach <= (double)FLT_MAX)) /* NaN too: inf error times zero */
        return (ts_err){v, (double)INFINITY};
    return (ts_err){v, moved + relative * reach + tiny};
}

static inline ts_err ts_err_neg(ts_err a)
{
    return (ts_err){-a.v, a.e};
}

/* A sum that is subnormal is exact: no underflow term. */
static inline ts_err ts_err_add(ts_err a, ts_err b)
{
    double v = a.v + b.v;
    if (!isfinite(v))
        return ts_err_special(v, a, b, (ts_err){0, 0});
    return ts_err_round(v, a.e + b.e, TS_ERR_U, 0);
}

static inline ts_err ts_err_sub(ts_err a, ts_err b)
{
    return ts_err_add(a, ts_err_neg(b));
}

static inline ts_err ts_err_mul(ts_err a, ts_err b)
{
    double v = a.v * b.v;
    if (!isfinite(v))
        return ts_err_special(v, a, b, (ts_err){0, 0});
    return ts_err_round(v, fabs(a.v) * b.e + fabs(b.v) * a.e + a.e * b.e, TS_ERR_U, TS_ERR_TINY);
}

static inline ts_err ts_err_fma(ts_err a, ts_err b, ts_err c)
{
    double v = fma(a.v, b.v, c.v);
    if (!isfinite(v))
        return ts_err_special(v, a, b, c);
    return ts_err_round(v, fabs(a.v) * b.e + fabs(b.v) * a.e + a.e * b.e + c.e, TS_ERR_U, TS_ERR_TINY);
}

/* |(a+da)/(b+db) - a/b| = |da - (a/b) db| / |b+db| */
static inline ts_err ts_err_div(ts_err a, ts_err b)
{
    double v = a.v / b.v;
    if (!isfinite(v))
        return ts_err_special(v, a, b, (ts_err){0, 0});
    if (b.e >= fabs(b.v)) /* the f32 denominator may be 0, or overflow */
        return (ts_err){v, (double)INFINITY};
    return ts_err_round(v, (a.e + fabs(v) * b.e) / (fabs(b.v) - b.e), TS_ERR_U, TS_ERR_TINY);
}

/* Of something never negative in f32 either (a sum of squares, an input), or exact.
 * sqrt(a) - sqrt(a-e) = e / (sqrt(a) + sqrt(a-e)) is the larger side. */
static inline ts_err ts_err_sqrt(ts_err a)
{
    double v = sqrt(a.v);
    if (!isfinite(v))
        return ts_err_special(v, a, (ts_err){0, 0}, (ts_err){0, 0});
    double moved = a.e == 0 ? 0 : a.e / (v + sqrt(fmax(a.v - a.e, 0)));
    return ts_err_round(v, moved, TS_ERR_U, 0); /* never subnormal */
}

/* |max(a+da, b+db) - max(a, b)| <= max(|da|, |db|) */
static inline ts_err ts_err_max(ts_err a, ts_err b)
{
    return (ts_err){fmax(a.v, b.v), fmax(a.e, b.e)};
}

/* |exp(x+d) - exp(x)| <= exp(x) (exp(|d|) - 1) */
static inline ts_err ts_err_exp(ts_err x)
{
    double v = exp(x.v);
    if (!isfinite(v))
        return isfinite(x.v) ? (ts_err){v, (double)INFINITY} : ts_err_special(v, x, (ts_err){0, 0}, (ts_err){0, 0});
    return ts_err_round(v, v * expm1(x.e), TS_ULP_EXP * 2 * TS_ERR_U, TS_ULP_EXP * 2 * TS_ERR_TINY);
}

/* |2^(x+d) - 2^x| <= 2^x (2^|d| - 1) */
static inline ts_err ts_err_exp2(ts_err x)
{
    double v = exp2(x.v);
    if (!isfinite(v))
        return isfinite(x.v) ? (ts_err){v, (double)INFINITY} : ts_err_special(v, x, (ts_err){0, 0}, (ts_err){0, 0});
    return ts_err_round(v, v * (exp2(x.e) - 1), TS_ULP_EXP2 * 2 * TS_ERR_U, TS_ULP_EXP2 * 2 * TS_ERR_TINY);
}

static inline double ts_err_bound(ts_err a)
{
    return a.e * TS_ERR_WIDEN;
}

ts_err ts_err_sigmoid(ts_err x);
ts_err ts_err_silu(ts_err x);
ts_err ts_err_rsqrt(ts_err x);
ts_err ts_err_softplus(ts_err x);

/* Stored as bf16 or f16. Each side rounds what lies within e of v, so each gets something between the two ends
 * rounded; the doubled distance covers both sides. Nothing if no rounding boundary lies between. */
ts_err ts_err_bf16(ts_err a);
ts_err ts_err_f16(ts_err a);

/* Order dot32: lane k mod 32 takes term k, then the fixed tree. */
typedef struct {
    ts_err lane[32];
} ts_err_dot32;

static inline void ts_err_dot32_term(ts_err_dot32 *d, int64_t k, ts_err a, ts_err b)
{
    d->lane[k % 32] = ts_err_fma(a, b, d->lane[k % 32]);
}

ts_err ts_err_dot32_sum(const ts_err_dot32 *d);

/* dot32 of an f32 row with itself: the sum of squares of the norms. */
ts_err ts_err_squares(const float *x, int64_t n);

#endif
