/* Advanced SIMD (Armv8.2 with the dot product), under the names that the schedules use: v_ on vectors of VEC
 * floats, b_ on 16 bytes. There are no masked loads: the last few elements go through a buffer. */
#ifndef TS_FAST_NEON_H
#define TS_FAST_NEON_H

#include <arm_neon.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { VEC = 4, STRIPS = 16 / VEC };

typedef float32x4_t vec;
typedef uint32x4_t vmask; /* all ones or zero per lane */

static inline vec v_all(float x)
{
    return vdupq_n_f32(x);
}

/* The first n lanes, none for n <= 0. */
static inline vmask v_first(int64_t n)
{
    static const int32_t lane[VEC] = {0, 1, 2, 3};
    return vcgtq_s32(vdupq_n_s32(n >= VEC ? VEC : (int32_t)n), vld1q_s32(lane));
}

static inline vec v_load(const float *p)
{
    return vld1q_f32(p);
}

/* The first n lanes, 0 < n <= VEC; the others are not read, and +0. */
static inline vec v_load_first(const float *p, int64_t n)
{
    float few[VEC] = {0};
    memcpy(few, p, (size_t)n * sizeof *p);
    return vld1q_f32(few);
}

static inline void v_store(float *p, vec a)
{
    vst1q_f32(p, a);
}

static inline void v_store_first(float *p, int64_t n, vec a)
{
    float few[VEC];
    vst1q_f32(few, a);
    memcpy(p, few, (size_t)n * sizeof *p);
}

static inline vec v_add(vec a, vec b)
{
    return vaddq_f32(a, b);
}

static inline vec v_sub(vec a, vec b)
{
    return vsubq_f32(a, b);
}

static inline vec v_mul(vec a, vec b)
{
    return vmulq_f32(a, b);
}

static inline vec v_div(vec a, vec b)
{
    return vdivq_f32(a, b);
}

static inline vec v_sqrt(vec a)
{
    return vsqrtq_f32(a);
}

/* a * b + c */
static inline vec v_fma(vec a, vec b, vec c)
{
    return vfmaq_f32(c, a, b);
}

/* c - a * b */
static inline vec v_nfma(vec a, vec b, vec c)
{
    return vfmsq_f32(c, a, b);
}

/* NaN where either is. */
static inline vec v_max(vec a, vec b)
{
    return vmaxq_f32(a, b);
}

static inline vec v_min(vec a, vec b)
{
    return vminq_f32(a, b);
}

static inline vec v_rint(vec a)
{
    return vrndnq_f32(a);
}

static inline vec v_abs(vec a)
{
    return vabsq_f32(a);
}

static inline vec v_negate(vec a)
{
    return vnegq_f32(a);
}

static inline vmask v_less(vec a, vec b)
{
    return vcltq_f32(a, b);
}

static inline vmask v_less_equal(vec a, vec b)
{
    return vcleq_f32(a, b);
}

static inline bool v_every(vmask m)
{
    return vminvq_u32(m) != 0;
}

static inline vec v_select(vmask m, vec yes, vec no)
{
    return vbslq_f32(m, yes, no);
}

/* 2^n, n in the normal range. */
static inline vec v_pow2(int32x4_t n)
{
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23));
}

/* m * 2^n in one rounding: half of n comes first, and exactly. n whole, -150 <= n <= 128, or a NaN. */
static inline vec v_scale(vec m, vec n)
{
    int32x4_t whole = vcvtnq_s32_f32(n), half = vshrq_n_s32(whole, 1);
    return v_mul(v_mul(m, v_pow2(half)), v_pow2(vsubq_s32(whole, half)));
}

static inline vec v_load_bf16(const uint16_t *p)
{
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
}

static inline vec v_load_f16(const uint16_t *p)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}

/* Neighbours added: a0+a1, a2+a3, b0+b1, b2+b3. */
static inline vec v_pairs(vec a, vec b)
{
    return vpaddq_f32(a, b);
}

/* The butterfly over the 16 lanes of t, masks 1, 2, 4, 8. */
static inline float v_tree(const vec t[STRIPS])
{
    vec fours = v_pairs(v_pairs(t[0], t[1]), v_pairs(t[2], t[3])), eights = v_pairs(fours, fours);
    return vgetq_lane_f32(eights, 0) + vgetq_lane_f32(eights, 1);
}

/* The largest lane; no lane may be a NaN. */
static inline float v_largest(vec a)
{
    return vmaxvq_f32(a);
}

/* Element i of row r to element r of row i. */
static inline void v_transpose(vec r[VEC])
{
    float64x2_t a = vreinterpretq_f64_f32(vtrn1q_f32(r[0], r[1])),
                b = vreinterpretq_f64_f32(vtrn2q_f32(r[0], r[1]));
    float64x2_t c = vreinterpretq_f64_f32(vtrn1q_f32(r[2], r[3])),
                d = vreinterpretq_f64_f32(vtrn2q_f32(r[2], r[3]));
    r[0] = vreinterpretq_f32_f64(vtrn1q_f64(a, c));
    r[1] = vreinterpretq_f32_f64(vtrn1q_f64(b, d));
    r[2] = vreinterpretq_f32_f64(vtrn2q_f64(a, c));
    r[3] = vreinterpretq_f32_f64(vtrn2q_f64(b, d));
}

/* 16 values to the nearest integers, ties to even, as bytes; 0 where the mask is. */
static inline void v_store_codes(int8_t *p, const vec x[4], const vmask m[4])
{
    int32x4_t i[4];
    for (int j = 0; j < 4; j++)
        i[j] = vandq_s32(vcvtnq_s32_f32(x[j]), vreinterpretq_s32_u32(m[j]));
    int16x8_t low = vcombine_s16(vmovn_s32(i[0]), vmovn_s32(i[1]));
    int16x8_t high = vcombine_s16(vmovn_s32(i[2]), vmovn_s32(i[3]));
    vst1q_s8(p, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
}

typedef int8x16_t bytes;

static inline bytes b_load(const int8_t *p)
{
    return vld1q_s8(p);
}

/* 32 bytes: those at even places and those at odd ones. */
static inline void b_load_even_odd(const int8_t *p, bytes *even, bytes *odd)
{
    int8x16x2_t both = vld2q_s8(p);
    *even = both.val[0];
    *odd = both.val[1];
}

/* 32 codes of 4 bits, those at even places and those at odd ones. */
static inline void b_load_nibbles(const uint8_t *p, bytes *even, bytes *odd)
{
    uint8x16_t both = vld1q_u8(p);
    *even = vreinterpretq_s8_u8(vandq_u8(both, vdupq_n_u8(15)));
    *odd = vreinterpretq_s8_u8(vshrq_n_u8(both, 4));
}

/* 16 codes of 8 bits, less 128: a sign bit flipped. */
static inline bytes b_load_less_128(const uint8_t *p)
{
    return vreinterpretq_s8_u8(veorq_u8(vld1q_u8(p), vdupq_n_u8(0x80)));
}

/* Exact: the products of 64 bytes, in four parts. */
static inline int32x4_t b_dot(const bytes a[4], const bytes b[4])
{
    int32x4_t sum = vdotq_s32(vdupq_n_s32(0), a[0], b[0]);
    for (int i = 1; i < 4; i++)
        sum = vdotq_s32(sum, a[i], b[i]);
    return sum;
}

/* Exact: the sum of 64 bytes. */
static inline int32_t b_sum(const bytes a[4])
{
    const bytes one = vdupq_n_s8(1), ones[4] = {one, one, one, one};
    return vaddvq_s32(b_dot(a, ones));
}

/* Lane i = more + the sum of part[i], as a float: exact below 2^24. */
static inline vec b_totals(const int32x4_t part[VEC], int32_t more)
{
    int32x4_t sum = vpaddq_s32(vpaddq_s32(part[0], part[1]), vpaddq_s32(part[2], part[3]));
    return vcvtq_f32_s32(vaddq_s32(sum, vdupq_n_s32(more)));
}

#endif
