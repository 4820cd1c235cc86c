/* AVX2 and FMA, under the names that the schedules use: v_ on vectors of VEC floats. The AVX-512 header has the
 * same ones, so that fast/cpu/vector is written once. */
#ifndef TS_FAST_AVX2_H
#define TS_FAST_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

enum { VEC = 8, STRIPS = 16 / VEC };

typedef __m256 vec;
typedef __m256i vmask; /* all ones or zero per lane */

static inline vec v_all(float x)
{
    return _mm256_set1_ps(x);
}

/* The first n lanes, none for n <= 0. */
static inline vmask v_first(int64_t n)
{
    int few = n >= VEC ? VEC : (int)n;
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(few), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline vec v_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

/* Lanes outside the mask are not read, and +0. */
static inline vec v_load_some(const float *p, vmask m)
{
    return _mm256_maskload_ps(p, m);
}

static inline void v_store(float *p, vec a)
{
    _mm256_storeu_ps(p, a);
}

static inline void v_store_some(float *p, vmask m, vec a)
{
    _mm256_maskstore_ps(p, m, a);
}

static inline vec v_add(vec a, vec b)
{
    return _mm256_add_ps(a, b);
}

static inline vec v_sub(vec a, vec b)
{
    return _mm256_sub_ps(a, b);
}

static inline vec v_mul(vec a, vec b)
{
    return _mm256_mul_ps(a, b);
}

static inline vec v_div(vec a, vec b)
{
    return _mm256_div_ps(a, b);
}

static inline vec v_sqrt(vec a)
{
    return _mm256_sqrt_ps(a);
}

/* a * b + c */
static inline vec v_fma(vec a, vec b, vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}

/* c - a * b */
static inline vec v_nfma(vec a, vec b, vec c)
{
    return _mm256_fnmadd_ps(a, b, c);
}

/* b where either is a NaN. */
static inline vec v_max(vec a, vec b)
{
    return _mm256_max_ps(a, b);
}

static inline vec v_min(vec a, vec b)
{
    return _mm256_min_ps(a, b);
}

static inline vec v_rint(vec a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline vec v_negative_abs(vec a)
{
    return _mm256_or_ps(a, v_all(-0.0f));
}

static inline vec v_negate(vec a)
{
    return _mm256_xor_ps(a, v_all(-0.0f));
}

static inline vmask v_less(vec a, vec b)
{
    return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_LT_OQ));
}

static inline vmask v_less_equal(vec a, vec b)
{
    return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_LE_OQ));
}

static inline vec v_select(vmask m, vec yes, vec no)
{
    return _mm256_blendv_ps(no, yes, _mm256_castsi256_ps(m));
}

/* 2^n, n in the normal range. */
static inline vec v_pow2(__m256i n)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}

/* m * 2^n in one rounding: half of n comes first, and exactly. n whole, -150 <= n <= 128. */
static inline vec v_scale(vec m, vec n)
{
    __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
    return v_mul(v_mul(m, v_pow2(half)), v_pow2(_mm256_sub_epi32(whole, half)));
}

static inline vec v_widen_bf16(__m128i h)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
}

/* Exponent and mantissa moved into place are 2^-112 too small, subnormals included. */
static inline vec v_widen_f16(__m128i half)
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
static inline size_t v_bytes_of_halves(vmask m)
{
    return 2 * (size_t)__builtin_popcount((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(m)));
}

static inline __m128i v_halves(const uint16_t *p, vmask m)
{
    uint16_t few[VEC] = {0};
    size_t bytes = v_bytes_of_halves(m);
    if (bytes == sizeof few)
        return _mm_loadu_si128((const __m128i *)p);
    memcpy(few, p, bytes);
    return _mm_loadu_si128((const __m128i *)few);
}

static inline vec v_load_bf16(const uint16_t *p)
{
    return v_widen_bf16(_mm_loadu_si128((const __m128i *)p));
}

static inline vec v_load_some_bf16(const uint16_t *p, vmask m)
{
    return v_widen_bf16(v_halves(p, m));
}

static inline vec v_load_f16(const uint16_t *p)
{
    return v_widen_f16(_mm_loadu_si128((const __m128i *)p));
}

static inline vec v_load_some_f16(const uint16_t *p, vmask m)
{
    return v_widen_f16(v_halves(p, m));
}

/* The low half of every lane, which must be below 2^16. */
static inline void v_store_halves(uint16_t *p, vmask m, __m256i a)
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
static inline void v_store_some_f16(uint16_t *p, vmask m, vec x)
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
static inline void v_store_some_bf16(uint16_t *p, vmask m, vec a)
{
    __m256i u = _mm256_castps_si256(a), top = _mm256_srli_epi32(u, 16);
    __m256i odd = _mm256_and_si256(top, _mm256_set1_epi32(1));
    __m256i up = _mm256_add_epi32(_mm256_add_epi32(u, _mm256_set1_epi32(0x7fff)), odd);
    __m256i rounded = _mm256_srli_epi32(up, 16), nan = _mm256_or_si256(top, _mm256_set1_epi32(0x40));
    __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q));
    v_store_halves(p, m, _mm256_blendv_epi8(rounded, nan, is_nan));
}

/* Neighbours of a and of b added: in both halves a0+a1, a2+a3, b0+b1, b2+b3. */
static inline vec v_pairs(vec a, vec b)
{
    return _mm256_hadd_ps(a, b);
}

/* The butterfly over 16 lanes, masks 1, 2, 4, 8, for DOTS of them at once. t[i][s] holds lanes s*VEC on of the
 * i-th.
 */
enum { DOTS = 4 };
static inline void v_trees(vec t[DOTS][STRIPS], float *out)
{
    vec a = v_pairs(v_pairs(t[0][0], t[1][0]), v_pairs(t[2][0], t[3][0]));
    vec b = v_pairs(v_pairs(t[0][1], t[1][1]), v_pairs(t[2][1], t[3][1]));
    vec z = v_add(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
    _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(z), _mm256_extractf128_ps(z, 1)));
}

static inline float v_tree(const vec t[STRIPS])
{
    vec q = v_pairs(t[0], t[1]); /* t0 and t1 in both halves */
    q = v_pairs(q, q);
    __m128 h = _mm_add_ps(_mm256_castps256_ps128(q), _mm256_extractf128_ps(q, 1));
    return _mm_cvtss_f32(_mm_add_ss(h, _mm_movehdup_ps(h)));
}

/* Into the L2 cache. A function that only does this has no effect in the eyes of GCC 12, which drops the calls that
 * it has not inlined early. */
static inline __attribute__((always_inline)) void v_prefetch(const void *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T1);
}

/* --- probes --- */

static inline __m256 ts_ymm_set_f32(float x)
{
    return _mm256_set1_ps(x);
}

static inline __m256 ts_ymm_fma(__m256 a, __m256 b, __m256 c)
{
    return _mm256_fmadd_ps(a, b, c);
}

static inline __m256i ts_ymm_bits(__m256 x)
{
    return _mm256_castps_si256(x);
}

static inline __m256i ts_ymm_load(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

static inline void ts_ymm_store(void *p, __m256i x)
{
    _mm256_storeu_si256((__m256i *)p, x);
}

static inline __m256i ts_ymm_set64(int64_t x)
{
    return _mm256_set1_epi64x(x);
}

static inline __m256i ts_ymm_add64(__m256i a, __m256i b)
{
    return _mm256_add_epi64(a, b);
}

static inline __m256i ts_ymm_xor(__m256i a, __m256i b)
{
    return _mm256_xor_si256(a, b);
}

static inline void ts_prefetch(const void *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T0);
}

#endif
