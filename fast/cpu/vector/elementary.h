/* The elementary functions of docs/contract.md section 4 on vectors, without a branch. Include the isa's header
 * first: it has the v_ names. */
#ifndef TS_FAST_VECTOR_ELEMENTARY_H
#define TS_FAST_VECTOR_ELEMENTARY_H

#include <math.h>
#include "num/coef.h"

/* (exp(r) - 1 - r) / r^2 on |r| <= ln2 / 2. */
static inline vec v_exp_poly(vec r)
{
    vec p = v_all(ts_coef_exp[0]);
    p = v_fma(p, r, v_all(ts_coef_exp[1]));
    p = v_fma(p, r, v_all(ts_coef_exp[2]));
    p = v_fma(p, r, v_all(ts_coef_exp[3]));
    p = v_fma(p, r, v_all(ts_coef_exp[4]));
    return v_fma(p, r, v_all(ts_coef_exp[5]));
}

/* The ends of the range round to +0 and +inf by themselves. A NaN passes both comparisons and stays one. */
static inline vec v_exp(vec x)
{
    vec in = v_max(v_all(ts_coef_exp_range[0]), x);
    in = v_min(v_all(ts_coef_exp_range[1]), in);
    vec n = v_rint(v_mul(in, v_all(ts_coef_log2e)));
    vec r = v_nfma(n, v_all(ts_coef_ln2[0]), in);
    r = v_nfma(n, v_all(ts_coef_ln2[1]), r);
    vec t = v_fma(v_mul(r, r), v_exp_poly(r), r);
    return v_scale(v_add(v_all(1.0f), t), n);
}

static inline vec v_sigmoid(vec x)
{
    vec one = v_all(1.0f);
    return v_div(one, v_add(one, v_exp(v_negate(x))));
}

static inline vec v_silu(vec x)
{
    return v_div(x, v_add(v_all(1.0f), v_exp(v_negate(x))));
}

static inline vec v_rsqrt(vec x)
{
    return v_div(v_all(1.0f), v_sqrt(x));
}

/* exp(a) = (h + hl) 2^n, for exp_range[0] <= a <= 0; returns n */
static inline vec v_exp_pair(vec a, vec *h, vec *hl)
{
    vec one = v_all(1.0f), lo = v_all(ts_coef_ln2[1]);
    vec n = v_rint(v_mul(a, v_all(ts_coef_log2e)));
    vec r1 = v_nfma(n, v_all(ts_coef_ln2[0]), a);
    vec r = v_nfma(n, lo, r1);
    vec rl = v_nfma(n, lo, v_sub(r1, r));
    vec q = v_mul(v_mul(r, r), v_exp_poly(r));
    vec t = v_add(r, q);
    vec tl = v_add(v_add(v_sub(r, t), q), rl);
    *h = v_add(one, t);
    *hl = v_add(v_add(v_sub(one, *h), t), tl);
    return n;
}

/* atanh((e + el) / (2 + e + el)) = s + *w */
static inline vec v_half_log1p(vec e, vec el, vec *w)
{
    vec two = v_all(2.0f), d = v_add(two, e);
    vec dl = v_add(v_add(v_sub(two, d), e), el);
    vec s = v_div(e, d);
    vec m = v_nfma(s, d, e);
    vec sl = v_div(v_sub(v_add(m, el), v_mul(s, dl)), d);
    vec z = v_mul(s, s);
    vec Q = v_all(ts_coef_atanh[0]);
    Q = v_fma(Q, z, v_all(ts_coef_atanh[1]));
    Q = v_fma(Q, z, v_all(ts_coef_atanh[2]));
    Q = v_fma(Q, z, v_all(ts_coef_atanh[3]));
    Q = v_fma(Q, z, v_all(ts_coef_atanh[4]));
    *w = v_fma(v_mul(s, z), Q, sl);
    return s;
}

/* x + 2 (s + w) for x > 0 */
static inline vec v_join_log1p(vec x, vec s, vec w)
{
    vec b = v_add(s, s), u = v_add(x, b);
    vec ul = v_select(v_less_equal(b, x), v_add(v_sub(x, u), b), v_add(v_sub(b, u), x));
    return v_add(u, v_add(ul, v_add(w, w)));
}

/* Every case is computed, the right one taken. */
static inline vec v_softplus(vec x)
{
    vec zero = v_all(0.0f), h, hl, w, a = v_negative_abs(x);
    vec n = v_exp_pair(v_max(a, v_all(ts_coef_exp_range[0])), &h, &hl);
    vec e = v_scale(h, n), s = v_half_log1p(e, v_scale(hl, n), &w);
    vmask positive = v_less(zero, x);
    vec v = v_scale(v_add(h, v_sub(hl, v_mul(v_mul(v_all(0.5f), e), h))), n);
    vec sum = v_add(s, w);
    vec tail = v_select(positive, v_add(x, v), v);
    vec body = v_select(positive, v_join_log1p(x, s, w), v_add(sum, sum));
    vec y = v_select(v_less(a, v_all(ts_coef_softplus[1])), tail, body);
    y = v_select(v_less(x, v_all(ts_coef_exp_range[0])), zero, y);
    return v_select(v_less_equal(x, v_all(ts_coef_softplus[0])), y, x);
}

#endif
