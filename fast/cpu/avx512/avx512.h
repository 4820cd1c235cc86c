/* AVX-512, under the names that the schedules use: v_ on vectors of VEC floats. The AVX2 header has the same ones,
 * so that fast/cpu/vector is written once. */
#ifndef TS_FAST_AVX512_H
#define TS_FAST_AVX512_H

#include <immintrin.h>
#include <stdint.h>

enum { VEC = 16, STRIPS = 16 / VEC };

typedef __m512 vec;
typedef __mmask16 vmask;

static inline vec v_all(float x)
{
    return _mm512_set1_ps(x);
}

/* The first n lanes, none for n <= 0. */
static inline vmask v_first(int64_t n)
{
    int few = n >= VEC ? VEC : n <= 0 ? 0 : (int)n;
    return _cvtu32_mask16((1u << few) - 1u);
}

static inline vec v_load(const float *p)
{
    return _mm512_loadu_ps(p);
}

/* Lanes outside the mask are not read, and +0. */
static inline vec v_load_some(const float *p, vmask m)
{
    return _mm512_maskz_loadu_ps(m, p);
}

static inline void v_store(float *p, vec a)
{
    _mm512_storeu_ps(p, a);
}

static inline void v_store_some(float *p, vmask m, vec a)
{
    _mm512_mask_storeu_ps(p, m, a);
}

static inline vec v_add(vec a, vec b)
{
    return _mm512_add_ps(a, b);
}

static inline vec v_sub(vec a, vec b)
{
    return _mm512_sub_ps(a, b);
}

static inline vec v_mul(vec a, vec b)
{
    return _mm512_mul_ps(a, b);
}

static inline vec v_div(vec a, vec b)
{
    return _mm512_div_ps(a, b);
}

static inline vec v_sqrt(vec a)
{
    return _mm512_sqrt_ps(a);
}

/* a * b + c */
static inline vec v_fma(vec a, vec b, vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}

/* c - a * b */
static inline vec v_nfma(vec a, vec b, vec c)
{
    return _mm512_fnmadd_ps(a, b, c);
}

/* b where either is a NaN. */
static inline vec v_max(vec a, vec b)
{
    return _mm512_max_ps(a, b);
}

static inline vec v_min(vec a, vec b)
{
    return _mm512_min_ps(a, b);
}

static inline vec v_rint(vec a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline vec v_negative_abs(vec a)
{
    return _mm512_or_ps(a, v_all(-0.0f));
}

static inline vec v_negate(vec a)
{
    return _mm512_xor_ps(a, v_all(-0.0f));
}

static inline vmask v_less(vec a, vec b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}

static inline vmask v_less_equal(vec a, vec b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
}

static inline vec v_select(vmask m, vec yes, vec no)
{
    return _mm512_mask_blend_ps(m, no, yes);
}

/* m * 2^n in one rounding; n whole, -150 <= n <= 128. */
static inline vec v_scale(vec m, vec n)
{
    return _mm512_scalef_ps(m, n);
}

static inline vec v_load_bf16(const uint16_t *p)
{
    __m512i h = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(h, 16));
}

static inline vec v_load_some_bf16(const uint16_t *p, vmask m)
{
    __m512i h = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(m, p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(h, 16));
}

static inline vec v_load_f16(const uint16_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}

static inline vec v_load_some_f16(const uint16_t *p, vmask m)
{
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(m, p));
}

static inline void v_store_some_f16(uint16_t *p, vmask m, vec a)
{
    __m256i h = _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm256_mask_storeu_epi16(p, m, h);
}

/* Nearest, ties to even; a NaN keeps its sign and top payload bits and is made quiet. */
static inline void v_store_some_bf16(uint16_t *p, vmask m, vec a)
{
    __m512i u = _mm512_castps_si512(a), top = _mm512_srli_epi32(u, 16);
    __m512i odd = _mm512_and_si512(top, _mm512_set1_epi32(1));
    __m512i up = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7fff)), odd);
    __m512i rounded = _mm512_srli_epi32(up, 16), nan = _mm512_or_si512(top, _mm512_set1_epi32(0x40));
    vmask is_nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
    _mm256_mask_storeu_epi16(p, m, _mm512_cvtepi32_epi16(_mm512_mask_blend_epi32(is_nan, rounded, nan)));
}

/* Neighbours of a and of b added: in every quarter a0+a1, a2+a3, b0+b1, b2+b3. */
static inline vec v_pairs(vec a, vec b)
{
    return _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xdd));
}

/* The butterfly over 16 lanes, masks 1, 2, 4, 8. t[s] holds lanes s*VEC on. */
static inline float v_tree(const vec t[STRIPS])
{
    vec q = v_pairs(t[0], t[0]);
    q = v_pairs(q, q);
    q = _mm512_add_ps(q, _mm512_shuffle_f32x4(q, q, 0xf5));
    return _mm512_cvtss_f32(_mm512_add_ps(q, _mm512_shuffle_f32x4(q, q, 0xaa)));
}

/* The same for DOTS of them at once. */
enum { DOTS = 8 };
static inline void v_trees(vec t[DOTS][STRIPS], float *out)
{
    vec a = v_pairs(v_pairs(t[0][0], t[1][0]), v_pairs(t[2][0], t[3][0]));
    vec b = v_pairs(v_pairs(t[4][0], t[5][0]), v_pairs(t[6][0], t[7][0]));
    vec z = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
    z = _mm512_add_ps(_mm512_shuffle_f32x4(z, z, 0x88), _mm512_shuffle_f32x4(z, z, 0xdd));
    _mm256_storeu_ps(out, _mm512_castps512_ps256(z));
}

/* Into the L2 cache. A function that only does this has no effect in the eyes of GCC 12, which drops the calls that
 * it has not inlined early. */
static inline __attribute__((always_inline)) void v_prefetch(const void *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T1);
}

/* --- probes --- */

static inline __m512i ts_zmm_load(const void *p)
{
    return _mm512_loadu_si512(p);
}

static inline void ts_zmm_store(void *p, __m512i x)
{
    _mm512_storeu_si512(p, x);
}

static inline __m512i ts_zmm_set32(int32_t x)
{
    return _mm512_set1_epi32(x);
}

static inline __m512i ts_zmm_add64(__m512i a, __m512i b)
{
    return _mm512_add_epi64(a, b);
}

static inline __m512i ts_zmm_xor(__m512i a, __m512i b)
{
    return _mm512_xor_si512(a, b);
}

/* Not the reduction intrinsic: where the headers write it as signed C, a wrap is undefined. */
static inline uint64_t ts_zmm_sum64(__m512i x)
{
    uint64_t lane[8], sum = 0;
    _mm512_storeu_si512(lane, x);
    for (int i = 0; i < 8; i++)
        sum += lane[i];
    return sum;
}

/* Per 32-bit lane: sum + the products of four unsigned bytes of a with four signed ones of b. */
static inline __m512i ts_zmm_dot_u8s8(__m512i sum, __m512i a, __m512i b)
{
    return _mm512_dpbusd_epi32(sum, a, b);
}

static inline void ts_prefetch(const void *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T0);
}

#endif
