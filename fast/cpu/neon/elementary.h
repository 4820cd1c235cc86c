/* The elementary functions of docs/contract.md section 4 on vectors, without a branch: every path is computed, the
 * right one taken. */
#ifndef TS_FAST_NEON_ELEMENTARY_H
#define TS_FAST_NEON_ELEMENTARY_H

#include "case/args.h"
#include "cpu/neon/neon.h"
#include "num/coef.h"

/* Horner over count coefficients, highest power first. */
static inline vec v_poly(const float *coef, int count, vec x)
{
    vec p = v_all(coef[0]);
    for (int i = 1; i < count; i++)
        p = v_fma(p, x, v_all(coef[i]));
    return p;
}

/* The ends of the range round to +0 and +inf by themselves. A NaN passes both comparisons and stays one. */
static inline vec v_exp(vec x)
{
    vec in = v_min(v_max(x, v_all(ts_coef_exp_range[0])), v_all(ts_coef_exp_range[1]));
    vec n = v_rint(v_mul(in, v_all(ts_coef_log2e)));
    vec r = v_nfma(n, v_all(ts_coef_ln2[0]), in);
    r = v_nfma(n, v_all(ts_coef_ln2[1]), r);
    vec t = v_fma(v_mul(r, r), v_poly(ts_coef_exp, 6, r), r);
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

/* exp(a) = (h + *hl) 2^*n */
static inline vec v_exp_pair(vec a, vec *hl, vec *n)
{
    const vec one = v_all(1.0f), ln2 = v_all(ts_coef_ln2[1]);
    *n = v_rint(v_mul(a, v_all(ts_coef_log2e)));
    vec r1 = v_nfma(*n, v_all(ts_coef_ln2[0]), a);
    vec r = v_nfma(*n, ln2, r1), rl = v_nfma(*n, ln2, v_sub(r1, r));
    vec q = v_mul(v_mul(r, r), v_poly(ts_coef_exp, 6, r));
    vec t = v_add(r, q), tl = v_add(v_add(v_sub(r, t), q), rl);
    vec h = v_add(one, t);
    *hl = v_add(v_add(v_sub(one, h), t), tl);
    return h;
}

/* log1p(e + el) = 2 (s + *w) */
static inline vec v_half_log1p(vec e, vec el, vec *w)
{
    const vec two = v_all(2.0f);
    vec d = v_add(two, e), dl = v_add(v_add(v_sub(two, d), e), el);
    vec s = v_div(e, d), m = v_nfma(s, d, e);
    vec sl = v_div(v_sub(v_add(m, el), v_mul(s, dl)), d);
    vec z = v_mul(s, s);
    *w = v_fma(v_mul(s, z), v_poly(ts_coef_atanh, 5, z), sl);
    return s;
}

/* x + 2 (s + w) */
static inline vec v_plus_log1p(vec x, vec s, vec w)
{
    vec b = v_add(s, s), u = v_add(x, b);
    vec ul = v_select(v_less_equal(b, x), v_add(v_sub(x, u), b), v_add(v_sub(b, u), x));
    return v_add(u, v_add(ul, v_add(w, w)));
}

static inline vec v_softplus(vec x)
{
    const vec zero = v_all(0.0f), least = v_all(ts_coef_exp_range[0]);
    vec hl, n, w, a = v_negate(v_abs(x));
    vec h = v_exp_pair(v_max(a, least), &hl, &n), e = v_scale(h, n);
    vmask positive = v_less(zero, x);
    vec two_terms = v_add(h, v_sub(hl, v_mul(v_mul(v_all(0.5f), e), h)));
    vec v = v_scale(two_terms, n);
    vec far = v_select(positive, v_add(x, v), v);
    vec s = v_half_log1p(e, v_scale(hl, n), &w), half = v_add(s, w);
    vec near = v_select(positive, v_plus_log1p(x, s, w), v_add(half, half));
    vec y = v_select(v_less(a, v_all(ts_coef_softplus[1])), far, near);
    y = v_select(v_less(x, least), zero, y);
    return v_select(v_less_equal(x, v_all(ts_coef_softplus[0])), y, x);
}

/* y = f(x) over the units; f is inlined. */
static inline void v_map(const ts_map_args *a, int64_t begin, int64_t end, vec (*f)(vec))
{
    int64_t i = begin;
    for (; i + VEC <= end; i += VEC)
        v_store(a->y + i, f(v_load(a->x + i)));
    if (i < end)
        v_store_first(a->y + i, end - i, f(v_load_first(a->x + i, end - i)));
}

#endif
