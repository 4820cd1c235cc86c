/* The elementary functions of docs/contract.md section 4, coded for vectors:
 * every path is computed and the right one selected, so that a loop over them
 * becomes SIMD. softplus alone branches: it runs once per head. */
#ifndef TS_FAST_ELEMENTARY_H
#define TS_FAST_ELEMENTARY_H

#include <math.h>
#include "num/coef.h"
#include "num/convert.h"

/* 2^n, n in the normal range. */
static inline float ts_fast_pow2(int n)
{
    return ts_float((uint32_t)(n + 127) << 23);
}

/* m * 2^n in two factors: n reaches -150 and +128, where one factor would not be a float. */
static inline float ts_fast_scale(float m, int n)
{
    int h = n / 2;
    return m * ts_fast_pow2(h) * ts_fast_pow2(n - h);
}

/* (exp(r) - 1 - r) / r^2 on |r| <= ln2 / 2. */
static inline float ts_fast_exp_poly(float r)
{
    float p = ts_coef_exp[0];
    p = fmaf(p, r, ts_coef_exp[1]);
    p = fmaf(p, r, ts_coef_exp[2]);
    p = fmaf(p, r, ts_coef_exp[3]);
    p = fmaf(p, r, ts_coef_exp[4]);
    return fmaf(p, r, ts_coef_exp[5]);
}

static inline float ts_fast_exp(float x)
{
    const float lo = ts_coef_exp_range[0], hi = ts_coef_exp_range[1];
    /* A NaN fails both comparisons and is replaced too: no conversion to int below can overflow. */
    float in = x >= lo ? x : lo;
    in = in <= hi ? in : hi;
    float n = rintf(in * ts_coef_log2e);
    float r = fmaf(n, -ts_coef_ln2[0], in);
    r = fmaf(n, -ts_coef_ln2[1], r);
    float t = fmaf(r * r, ts_fast_exp_poly(r), r);
    float y = ts_fast_scale(1.0f + t, (int)n);
    y = x > hi ? INFINITY : y;
    y = x < lo ? 0.0f : y;
    return x == x ? y : x;
}

static inline float ts_fast_sigmoid(float x)
{
    return 1.0f / (1.0f + ts_fast_exp(-x));
}

static inline float ts_fast_silu(float x)
{
    return x / (1.0f + ts_fast_exp(-x));
}

static inline float ts_fast_rsqrt(float x)
{
    return 1.0f / sqrtf(x);
}

/* 2 atanh(s) = log1p(e), s = e / (2 + e), for e + el in (0, 1]; s and the tail w of atanh(s) = s + w. */
static inline float ts_fast_atanh_parts(float e, float el, float *w)
{
    float d = 2.0f + e;
    float dl = ((2.0f - d) + e) + el;
    float s = e / d;
    float m = fmaf(-s, d, e);
    float sl = ((m + el) - s * dl) / d;
    float z = s * s;
    float Q = ts_coef_atanh[0];
    for (int i = 1; i < 5; i++)
        Q = fmaf(Q, z, ts_coef_atanh[i]);
    *w = fmaf(s * z, Q, sl);
    return s;
}

/* max(x, 0) + log1p(exp(-|x|)), each part with what its rounding lost. */
static inline float ts_fast_softplus(float x)
{
    if (!(x <= ts_coef_softplus[0]))
        return x;
    if (x < ts_coef_exp_range[0])
        return 0.0f;
    float a = -fabsf(x);
    float n = rintf(a * ts_coef_log2e);
    float r1 = fmaf(n, -ts_coef_ln2[0], a);
    float r = fmaf(n, -ts_coef_ln2[1], r1);
    float rl = fmaf(n, -ts_coef_ln2[1], r1 - r);
    float q = (r * r) * ts_fast_exp_poly(r);
    float t = r + q;
    float tl = ((r - t) + q) + rl;
    float h = 1.0f + t;
    float hl = ((1.0f - h) + t) + tl;
    if (a < ts_coef_softplus[1]) {
        float e = ts_fast_scale(h, (int)n);
        float v = ts_fast_scale(h + (hl - (0.5f * e) * h), (int)n);
        return x > 0 ? x + v : v;
    }
    float w, two_n = ts_fast_pow2((int)n);
    float s = ts_fast_atanh_parts(h * two_n, hl * two_n, &w);
    if (x <= 0)
        return 2.0f * (s + w);
    float b = 2.0f * s;
    float u = x + b;
    float ul = x >= b ? (x - u) + b : (b - u) + x;
    return u + (ul + 2.0f * w);
}

#endif
