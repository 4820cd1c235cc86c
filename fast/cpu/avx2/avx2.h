/* AVX2 and FMA, under the names that the schedules use: v_ on vectors of VEC floats. The AVX-512 header has the
 * same ones, so that fast/cpu/vector is written once. */
#ifndef TS_FAST_AVX2_H
#define TS_FAST_AVX2_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* GCC 12 leaves some of these as calls, with vectors in memory. */
#define TS_INLINE static inline __attribute__((always_inline))
#include <string.h>

enum { VEC = 8, STRIPS = 16 / VEC };

typedef __m256 vec;
typedef __m256i vmask; /* all ones or zero per lane */

TS_INLINE vec v_all(float x)
{
    return _mm256_set1_ps(x);
}

/* The first n lanes, none for n <= 0. */
TS_INLINE vmask v_first(int64_t n)
{
    int few = n >= VEC ? VEC : (int)n;
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(few), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

TS_INLINE vec v_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

/* Lanes outside the mask are not read, and +0. */
TS_INLINE vec v_load_some(const float *p, vmask m)
{
    return _mm256_maskload_ps(p, m);
}

TS_INLINE void v_store(float *p, vec a)
{
    _mm256_storeu_ps(p, a);
}

TS_INLINE void v_store_some(float *p, vmask m, vec a)
{
    _mm256_maskstore_ps(p, m, a);
}

TS_INLINE vec v_add(vec a, vec b)
{
    return _mm256_add_ps(a, b);
}

TS_INLINE vec v_sub(vec a, vec b)
{
    return _mm256_sub_ps(a, b);
}

TS_INLINE vec v_mul(vec a, vec b)
{
    return _mm256_mul_ps(a, b);
}

TS_INLINE vec v_div(vec a, vec b)
{
    return _mm256_div_ps(a, b);
}

TS_INLINE vec v_sqrt(vec a)
{
    return _mm256_sqrt_ps(a);
}

/* a * b + c */
TS_INLINE vec v_fma(vec a, vec b, vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}

/* c - a * b */
TS_INLINE vec v_nfma(vec a, vec b, vec c)
{
    return _mm256_fnmadd_ps(a, b, c);
}

/* b where either is a NaN. */
TS_INLINE vec v_max(vec a, vec b)
{
    return _mm256_max_ps(a, b);
}

TS_INLINE vec v_min(vec a, vec b)
{
    return _mm256_min_ps(a, b);
}

TS_INLINE vec v_rint(vec a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

TS_INLINE vec v_negative_abs(vec a)
{
    return _mm256_or_ps(a, v_all(-0.0f));
}

TS_INLINE vec v_negate(vec a)
{
    return _mm256_xor_ps(a, v_all(-0.0f));
}

TS_INLINE vmask v_less(vec a, vec b)
{
    return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_LT_OQ));
}

TS_INLINE vmask v_less_equal(vec a, vec b)
{
    return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_LE_OQ));
}

TS_INLINE bool v_every(vmask m)
{
    return _mm256_movemask_ps(_mm256_castsi256_ps(m)) == 0xff;
}

TS_INLINE vec v_select(vmask m, vec yes, vec no)
{
    return _mm256_blendv_ps(no, yes, _mm256_castsi256_ps(m));
}

/* 2^n, n in the normal range. */
TS_INLINE vec v_pow2(__m256i n)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}

/* m * 2^n in one rounding: half of n comes first, and exactly. n whole, -150 <= n <= 128. */
TS_INLINE vec v_scale(vec m, vec n)
{
    __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
    return v_mul(v_mul(m, v_pow2(half)), v_pow2(_mm256_sub_epi32(whole, half)));
}

TS_INLINE vec v_widen_bf16(__m128i h)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
}

/* Exponent and mantissa moved into place are 2^-112 too small, subnormals included. */
TS_INLINE vec v_widen_f16(__m128i half)
{
    __m256i h = _mm256_cvtepu16_epi32(half), top = _mm256_set1_epi32(0x7c00);
    __m256i magnitude = _mm256_slli_epi32(_mm256_and_si256(h, _mm256_set1_epi32(0x7fff)), 13);
    __m256i special = _mm256_cmpeq_epi32(_mm256_and_si256(h, top), top);
    __m256i sign = _mm256_slli_epi32(_mm256_and_si256(h, _mm256_set1_epi32(0x8000)), 16);
    vec y = v_mul(_mm256_castsi256_ps(magnitude), v_all(0x1p112f));
    special = _mm256_and_si256(special, _mm256_set1_epi32(0x7f800000));
    return _mm256_or_ps(y, _mm256_castsi256_ps(_mm256_or_si256(special, sign)));
}

/* AVX2 has no masks for 16 bits: through a buffer. The mask's lanes are the first ones. */
TS_INLINE size_t v_bytes_of_halves(vmask m)
{
    return 2 * (size_t)__builtin_popcount((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(m)));
}

TS_INLINE __m128i v_halves(const uint16_t *p, vmask m)
{
    uint16_t few[VEC] = {0};
    size_t bytes = v_bytes_of_halves(m);
    if (bytes == sizeof few)
        return _mm_loadu_si128((const __m128i *)p);
    memcpy(few, p, bytes);
    return _mm_loadu_si128((const __m128i *)few);
}

TS_INLINE vec v_load_bf16(const uint16_t *p)
{
    return v_widen_bf16(_mm_loadu_si128((const __m128i *)p));
}

TS_INLINE vec v_load_some_bf16(const uint16_t *p, vmask m)
{
    return v_widen_bf16(v_halves(p, m));
}

TS_INLINE vec v_load_f16(const uint16_t *p)
{
    return v_widen_f16(_mm_loadu_si128((const __m128i *)p));
}

TS_INLINE vec v_load_some_f16(const uint16_t *p, vmask m)
{
    return v_widen_f16(v_halves(p, m));
}

/* The low half of every lane, which must be below 2^16. */
TS_INLINE void v_store_halves(uint16_t *p, vmask m, __m256i a)
{
    uint16_t few[VEC];
    size_t bytes = v_bytes_of_halves(m);
    __m128i h = _mm_packus_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    _mm_storeu_si128((__m128i *)(bytes == sizeof few ? p : few), h);
    if (bytes < sizeof few)
        memcpy(p, few, bytes);
}

/* To f16, nearest, ties to even. Adding 1/2 leaves multiples of 2^-24, which are f16's subnormals; from 65520 on:
 * infinity. */
TS_INLINE void v_store_some_f16(uint16_t *p, vmask m, vec x)
{
    __m256i u = _mm256_castps_si256(x), a = _mm256_and_si256(u, _mm256_set1_epi32(0x7fffffff));
    vec half = v_all(0.5f), size = _mm256_castsi256_ps(a);
    __m256i small = _mm256_sub_epi32(_mm256_castps_si256(v_add(size, half)), _mm256_castps_si256(half));
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(a, 13), _mm256_set1_epi32(1));
    __m256i normal = _mm256_add_epi32(_mm256_sub_epi32(a, _mm256_set1_epi32(0x38000000 - 0xfff)), odd);
    normal = _mm256_srli_epi32(normal, 13);
    __m256i payload = _mm256_and_si256(_mm256_srli_epi32(a, 13), _mm256_set1_epi32(0x1ff));
    __m256i nan = _mm256_or_si256(payload, _mm256_set1_epi32(0x7e00)), infinity = _mm256_set1_epi32(0x7c00);
    __m256i is_nan = _mm256_cmpgt_epi32(a, _mm256_set1_epi32(0x7f800000));
    __m256i y = _mm256_blendv_epi8(infinity, nan, is_nan);
    y = _mm256_blendv_epi8(y, normal, _mm256_cmpgt_epi32(_mm256_set1_epi32(0x477ff000), a));
    y = _mm256_blendv_epi8(y, small, _mm256_cmpgt_epi32(_mm256_set1_epi32(0x38800000), a));
    __m256i sign = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(0x8000));
    v_store_halves(p, m, _mm256_or_si256(y, sign));
}

/* Nearest, ties to even; a NaN keeps its sign and top payload bits and is made quiet. */
TS_INLINE void v_store_some_bf16(uint16_t *p, vmask m, vec a)
{
    __m256i u = _mm256_castps_si256(a), top = _mm256_srli_epi32(u, 16);
    __m256i odd = _mm256_and_si256(top, _mm256_set1_epi32(1));
    __m256i up = _mm256_add_epi32(_mm256_add_epi32(u, _mm256_set1_epi32(0x7fff)), odd);
    __m256i rounded = _mm256_srli_epi32(up, 16), nan = _mm256_or_si256(top, _mm256_set1_epi32(0x40));
    __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q));
    v_store_halves(p, m, _mm256_blendv_epi8(rounded, nan, is_nan));
}

/* Neighbours of a and of b added: in both halves a0+a1, a2+a3, b0+b1, b2+b3. */
TS_INLINE vec v_pairs(vec a, vec b)
{
    return _mm256_hadd_ps(a, b);
}

/* The butterfly over 16 lanes, masks 1, 2, 4, 8, for DOTS of them at once. t[i][s] holds lanes s*VEC on of the
 * i-th.
 */
/* ACCUMULATORS leaves room for operands among the 16 registers. */
enum { DOTS = 4, ACCUMULATORS = 8 };
TS_INLINE void v_trees(vec t[DOTS][STRIPS], float scale, float out[VEC])
{
    vec a = v_pairs(v_pairs(t[0][0], t[1][0]), v_pairs(t[2][0], t[3][0]));
    vec b = v_pairs(v_pairs(t[0][1], t[1][1]), v_pairs(t[2][1], t[3][1]));
    vec z = v_add(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
    __m128 sum = _mm_add_ps(_mm256_castps256_ps128(z), _mm256_extractf128_ps(z, 1));
    _mm_storeu_ps(out, _mm_mul_ps(sum, _mm_set1_ps(scale)));
}

TS_INLINE float v_tree(const vec t[STRIPS])
{
    vec q = v_pairs(t[0], t[1]); /* t0 and t1 in both halves */
    q = v_pairs(q, q);
    __m128 h = _mm_add_ps(_mm256_castps256_ps128(q), _mm256_extractf128_ps(q, 1));
    return _mm_cvtss_f32(_mm_add_ss(h, _mm_movehdup_ps(h)));
}

/* Into the L2 cache. A function that only does this has no effect in the eyes of GCC 12, which drops the calls that
 * it has not inlined early. */
TS_INLINE void v_prefetch(const void *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T1);
}

/* --- matmul --- */

typedef __m256i ivec; /* or 32 bytes, or 16 of 16 bits */

TS_INLINE vec ts_zero8(void)
{
    return _mm256_setzero_ps();
}
TS_INLINE vec ts_abs8(vec x)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
}
TS_INLINE float v_largest(vec x)
{
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

TS_INLINE ivec ts_zero_i8(void)
{
    return _mm256_setzero_si256();
}
TS_INLINE ivec ts_load_32bytes(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}
TS_INLINE ivec ts_low_nibbles(ivec v)
{
    return _mm256_and_si256(v, _mm256_set1_epi8(15));
}
TS_INLINE ivec ts_high_nibbles(ivec v)
{
    return _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(15));
}
/* The 4 bytes at p in every lane. */
TS_INLINE ivec ts_all_bytes4(const int8_t *p)
{
    int32_t word;
    memcpy(&word, p, sizeof word);
    return _mm256_set1_epi32(word);
}
/* Per 16 bits: acc + 2 products of nibbles u with signed bytes s. At most 8 times: 8 * 2 * 15 * 127 < 2^15. */
TS_INLINE ivec ts_dot2(ivec acc, ivec u, ivec s)
{
    return _mm256_add_epi16(acc, _mm256_maddubs_epi16(u, s));
}
/* Neighbours of 16 bits added to 32. */
TS_INLINE ivec ts_pairs(ivec v)
{
    return _mm256_madd_epi16(v, _mm256_set1_epi16(1));
}
TS_INLINE ivec ts_add_i8(ivec a, ivec b)
{
    return _mm256_add_epi32(a, b);
}
TS_INLINE ivec ts_times16(ivec v)
{
    return _mm256_slli_epi32(v, 4);
}
TS_INLINE vec ts_to_f32x8(ivec v)
{
    return _mm256_cvtepi32_ps(v);
}
/* Words whose upper or lower half is a bf16, widened. */
TS_INLINE vec ts_upper_bf16(ivec v)
{
    return _mm256_castsi256_ps(_mm256_and_si256(v, _mm256_set1_epi32((int)0xffff0000)));
}
TS_INLINE vec ts_lower_bf16(ivec v)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(v, 16));
}

/* Rounded to integers, ties to even; 0 where |x| is more than `most` or x is NaN. */
TS_INLINE ivec ts_round8(vec x, float most)
{
    __m256 fits = _mm256_cmp_ps(ts_abs8(x), v_all(most), _CMP_LE_OQ);
    return _mm256_cvtps_epi32(_mm256_and_ps(x, fits));
}
/* The low bytes of 16 lanes, which are -128..127. */
TS_INLINE void ts_store_bytes16(int8_t *p, ivec a, ivec b)
{
    __m256i half = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xd8);
    __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    _mm_storeu_si128((__m128i *)(void *)p, bytes);
}

/* How 32 codes of 2..8 bits, one after another in 4*bits bytes, come into four times 8 lanes. */
typedef struct {
    ivec pick[4], shift[4]; /* two of 16 bytes for every lane; where in them its code begins */
    ivec low;               /* the bits of a code */
    int64_t bytes, second;  /* of 32 codes; where the 16 bytes begin that the last 16 codes are in */
} ts_codes32;

TS_INLINE ts_codes32 ts_codes32_of(int bits)
{
    ts_codes32 c = {.low = _mm256_set1_epi32((1 << bits) - 1), .bytes = 4 * bits};
    c.second = bits < 4 ? 0 : 4 * bits - 16;
    for (int q = 0; q < 4; q++) {
        uint32_t pick[VEC], shift[VEC];
        for (int l = 0; l < VEC; l++) {
            uint32_t bit = (uint32_t)((VEC * q + l) * bits - (q < 2 ? 0 : 8 * (int)c.second));
            uint32_t next = bit / 8 < 15 ? bit / 8 + 1 : 0x80; /* 0x80: zero */
            pick[l] = 0x80800000u | next << 8 | bit / 8;
            shift[l] = bit % 8;
        }
        c.pick[q] = ts_load_32bytes(pick);
        c.shift[q] = ts_load_32bytes(shift);
    }
    return c;
}
/* Codes 8*q .. 8*q+8 of those at p. */
TS_INLINE ivec ts_load_codes(const ts_codes32 *c, const uint8_t *p, int q)
{
    uint8_t few[16] = {0};
    if (c->bytes < 16)
        p = memcpy(few, p, (size_t)c->bytes);
    else
        p += q < 2 ? 0 : c->second;
    __m256i all = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)p));
    return _mm256_and_si256(_mm256_srlv_epi32(_mm256_shuffle_epi8(all, c->pick[q]), c->shift[q]), c->low);
}

/* The sum of 8 lanes, as lanes + 1, + 2, + 4 in turn. */
TS_INLINE float ts_sum8(vec x)
{
    x = _mm256_add_ps(x, _mm256_permute_ps(x, 0xb1));
    x = _mm256_add_ps(x, _mm256_permute_ps(x, 0x4e));
    return _mm_cvtss_f32(_mm_add_ss(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1)));
}
/* sum[i] + 4 more of each: x[i*16 .. i*16+4) one after another; `first`: instead of sum. */
TS_INLINE __m128 ts_chains4(__m128 sum, const float *x, int first)
{
    __m128 a = _mm_loadu_ps(x), b = _mm_loadu_ps(x + 16), c = _mm_loadu_ps(x + 32), d = _mm_loadu_ps(x + 48);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    sum = first ? a : _mm_add_ps(sum, a);
    return _mm_add_ps(_mm_add_ps(_mm_add_ps(sum, b), c), d);
}
/* out[i] = x[16*i .. 16*i+16) summed from the first to the last. */
TS_INLINE void ts_chains16(const float *x, float out[4])
{
    __m128 sum = ts_chains4(_mm_setzero_ps(), x, 1);
    sum = ts_chains4(sum, x + 4, 0);
    sum = ts_chains4(sum, x + 8, 0);
    _mm_storeu_ps(out, ts_chains4(sum, x + 12, 0));
}

TS_INLINE void ts_prefetch(const void *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T0);
}

/* --- probes --- */

TS_INLINE __m256 ts_ymm_set_f32(float x)
{
    return _mm256_set1_ps(x);
}

TS_INLINE __m256 ts_ymm_fma(__m256 a, __m256 b, __m256 c)
{
    return _mm256_fmadd_ps(a, b, c);
}

TS_INLINE __m256i ts_ymm_bits(__m256 x)
{
    return _mm256_castps_si256(x);
}

TS_INLINE __m256i ts_ymm_load(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

TS_INLINE void ts_ymm_store(void *p, __m256i x)
{
    _mm256_storeu_si256((__m256i *)p, x);
}

TS_INLINE __m256i ts_ymm_set64(int64_t x)
{
    return _mm256_set1_epi64x(x);
}

TS_INLINE __m256i ts_ymm_add64(__m256i a, __m256i b)
{
    return _mm256_add_epi64(a, b);
}

TS_INLINE __m256i ts_ymm_xor(__m256i a, __m256i b)
{
    return _mm256_xor_si256(a, b);
}

#endif
