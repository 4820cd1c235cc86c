/* AVX-512, under the names that the schedules use: v_ on vectors of VEC floats. The AVX2 header has the same ones,
 * so that fast/cpu/vector is written once. */
#ifndef TS_FAST_AVX512_H
#define TS_FAST_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* GCC 12 leaves some of these as calls, with vectors in memory. */
#define TS_INLINE static inline __attribute__((always_inline))

enum { VEC = 16, STRIPS = 16 / VEC };

typedef __m512 vec;
typedef __mmask16 vmask;

TS_INLINE vec v_all(float x)
{
    return _mm512_set1_ps(x);
}

/* The first n lanes, none for n <= 0. */
TS_INLINE vmask v_first(int64_t n)
{
    int few = n >= VEC ? VEC : n <= 0 ? 0 : (int)n;
    return _cvtu32_mask16((1u << few) - 1u);
}

TS_INLINE vec v_load(const float *p)
{
    return _mm512_loadu_ps(p);
}

/* Lanes outside the mask are not read, and +0. */
TS_INLINE vec v_load_some(const float *p, vmask m)
{
    return _mm512_maskz_loadu_ps(m, p);
}

TS_INLINE void v_store(float *p, vec a)
{
    _mm512_storeu_ps(p, a);
}

TS_INLINE void v_store_some(float *p, vmask m, vec a)
{
    _mm512_mask_storeu_ps(p, m, a);
}

TS_INLINE vec v_add(vec a, vec b)
{
    return _mm512_add_ps(a, b);
}

TS_INLINE vec v_sub(vec a, vec b)
{
    return _mm512_sub_ps(a, b);
}

TS_INLINE vec v_mul(vec a, vec b)
{
    return _mm512_mul_ps(a, b);
}

TS_INLINE vec v_div(vec a, vec b)
{
    return _mm512_div_ps(a, b);
}

TS_INLINE vec v_sqrt(vec a)
{
    return _mm512_sqrt_ps(a);
}

/* a * b + c */
TS_INLINE vec v_fma(vec a, vec b, vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}

/* c - a * b */
TS_INLINE vec v_nfma(vec a, vec b, vec c)
{
    return _mm512_fnmadd_ps(a, b, c);
}

/* b where either is a NaN. */
TS_INLINE vec v_max(vec a, vec b)
{
    return _mm512_max_ps(a, b);
}

TS_INLINE vec v_min(vec a, vec b)
{
    return _mm512_min_ps(a, b);
}

/* Of lanes that are no NaN. */
TS_INLINE float v_largest(vec a)
{
    return _mm512_reduce_max_ps(a);
}

TS_INLINE vec v_rint(vec a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

TS_INLINE vec v_negative_abs(vec a)
{
    return _mm512_or_ps(a, v_all(-0.0f));
}

TS_INLINE vec v_negate(vec a)
{
    return _mm512_xor_ps(a, v_all(-0.0f));
}

TS_INLINE vmask v_less(vec a, vec b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}

TS_INLINE vmask v_less_equal(vec a, vec b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
}

TS_INLINE bool v_every(vmask m)
{
    return _cvtmask16_u32(m) == 0xffff;
}

TS_INLINE vec v_select(vmask m, vec yes, vec no)
{
    return _mm512_mask_blend_ps(m, no, yes);
}

/* m * 2^n in one rounding; n whole, -150 <= n <= 128. */
TS_INLINE vec v_scale(vec m, vec n)
{
    return _mm512_scalef_ps(m, n);
}

TS_INLINE vec v_load_bf16(const uint16_t *p)
{
    __m512i h = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(h, 16));
}

TS_INLINE vec v_load_some_bf16(const uint16_t *p, vmask m)
{
    __m512i h = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(m, p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(h, 16));
}

TS_INLINE vec v_load_f16(const uint16_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}

TS_INLINE vec v_load_some_f16(const uint16_t *p, vmask m)
{
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(m, p));
}

TS_INLINE void v_store_some_f16(uint16_t *p, vmask m, vec a)
{
    __m256i h = _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm256_mask_storeu_epi16(p, m, h);
}

/* Nearest, ties to even; a NaN keeps its sign and top payload bits and is made quiet. */
TS_INLINE void v_store_some_bf16(uint16_t *p, vmask m, vec a)
{
    __m512i u = _mm512_castps_si512(a), top = _mm512_srli_epi32(u, 16);
    __m512i odd = _mm512_and_si512(top, _mm512_set1_epi32(1));
    __m512i up = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7fff)), odd);
    __m512i rounded = _mm512_srli_epi32(up, 16), nan = _mm512_or_si512(top, _mm512_set1_epi32(0x40));
    vmask is_nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
    _mm256_mask_storeu_epi16(p, m, _mm512_cvtepi32_epi16(_mm512_mask_blend_epi32(is_nan, rounded, nan)));
}

/* Neighbours of a and of b added: in every quarter a0+a1, a2+a3, b0+b1, b2+b3. */
TS_INLINE vec v_pairs(vec a, vec b)
{
    return _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xdd));
}

/* The butterfly over 16 lanes, masks 1, 2, 4, 8. t[s] holds lanes s*VEC on. */
TS_INLINE float v_tree(const vec t[STRIPS])
{
    vec q = v_pairs(t[0], t[0]);
    q = v_pairs(q, q);
    q = _mm512_add_ps(q, _mm512_shuffle_f32x4(q, q, 0xf5));
    return _mm512_cvtss_f32(_mm512_add_ps(q, _mm512_shuffle_f32x4(q, q, 0xaa)));
}

/* Sums of 4 neighbours: in every quarter those of a, b, c and d. */
TS_INLINE vec v_quads(vec a, vec b, vec c, vec d)
{
    return v_pairs(v_pairs(a, b), v_pairs(c, d));
}

/* The quarters of a and of b added in pairs. */
TS_INLINE vec v_quarters(vec a, vec b)
{
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
}

/* v_tree of DOTS of them at once, times scale. A store of some lanes only could not be forwarded to loads.
 * ACCUMULATORS leaves room for operands among the 32 registers. */
enum { DOTS = 12, ACCUMULATORS = 24 };
TS_INLINE void v_trees(vec t[DOTS][STRIPS], float scale, float out[VEC])
{
    vec a = v_quads(t[0][0], t[1][0], t[2][0], t[3][0]);
    vec b = v_quads(t[4][0], t[5][0], t[6][0], t[7][0]);
    vec c = v_quads(t[8][0], t[9][0], t[10][0], t[11][0]);
    v_store(out, v_mul(v_quarters(v_quarters(a, b), v_quarters(c, c)), v_all(scale)));
}

/* Into the L2 cache. A function that only does this has no effect in the eyes of GCC 12, which drops the calls that
 * it has not inlined early. */
TS_INLINE void v_prefetch(const void *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T1);
}

/* --- matmul --- */

typedef __m512i ivec; /* or 64 bytes */

TS_INLINE vec ts_zero16(void)
{
    return _mm512_setzero_ps();
}

/* Lanes first <= l < end, cut to 0..16. */
TS_INLINE vmask ts_lanes_of(int64_t first, int64_t end)
{
    uint32_t below = end >= VEC ? 0xffffu : (1u << (end > 0 ? end : 0)) - 1;
    return (vmask)(first > 0 ? below >> first << first : below);
}

TS_INLINE ivec ts_zero_i16(void)
{
    return _mm512_setzero_si512();
}
TS_INLINE ivec ts_load_line(const void *p)
{
    return _mm512_loadu_si512(p);
}
TS_INLINE ivec ts_add_i16(ivec a, ivec b)
{
    return _mm512_add_epi32(a, b);
}
TS_INLINE void v_copy64(void *to, const void *from)
{
    _mm512_storeu_si512(to, _mm512_loadu_si512(from));
}
/* The 4 bytes at p in every lane. */
TS_INLINE ivec ts_all_bytes4(const int8_t *p)
{
    int32_t word;
    memcpy(&word, p, sizeof word);
    return _mm512_set1_epi32(word);
}
/* Per lane: acc + 4 products of unsigned bytes of u with signed ones of s, exact. */
TS_INLINE ivec ts_dot4(ivec acc, ivec u, ivec s)
{
    return _mm512_dpbusd_epi32(acc, u, s);
}
TS_INLINE ivec ts_low_nibbles(ivec v)
{
    return _mm512_and_si512(v, _mm512_set1_epi8(15));
}
/* As a bit matrix: one instruction, where x86 has no shift of bytes. */
TS_INLINE ivec ts_high_nibbles(ivec v)
{
    return _mm512_gf2p8affine_epi64_epi8(v, _mm512_set1_epi64(0x1020408000000000), 0);
}
TS_INLINE vec ts_to_f32x16(ivec v)
{
    return _mm512_cvtepi32_ps(v);
}
/* Words whose upper or lower half is a bf16, widened. */
TS_INLINE vec ts_upper_bf16(ivec v)
{
    return _mm512_castsi512_ps(_mm512_and_si512(v, _mm512_set1_epi32((int)0xffff0000)));
}
TS_INLINE vec ts_lower_bf16(ivec v)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(v, 16));
}

/* acc where lanes are off */
TS_INLINE vec ts_fma16_of(vmask lanes, vec a, vec b, vec acc)
{
    return _mm512_mask3_fmadd_ps(a, b, acc, lanes);
}
TS_INLINE vec ts_abs16(vec x)
{
    return _mm512_abs_ps(x);
}
/* Rounded to integers, ties to even; 0 where lanes are off. */
TS_INLINE ivec ts_round16_of(vmask lanes, vec x)
{
    return _mm512_maskz_cvtps_epi32(lanes, x);
}
/* The low bytes of the lanes. */
TS_INLINE void ts_store_bytes16(int8_t *p, ivec x)
{
    _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8(x));
}

/* How 32 codes of 2..8 bits, one after another in 4*bits bytes, come into two times 16 lanes. */
typedef struct {
    ivec pick[2], shift[2]; /* two of 16 bytes for every lane; where in them its code begins */
    ivec low;               /* the bits of a code */
    vmask bytes;
    int64_t second; /* where the 16 bytes begin that the last 16 codes are in */
} ts_codes32;

TS_INLINE ts_codes32 ts_codes32_of(int bits)
{
    ts_codes32 c = {.low = _mm512_set1_epi32((1 << bits) - 1)};
    c.bytes = (vmask)(bits < 4 ? (1 << 4 * bits) - 1 : 0xffff);
    c.second = bits < 4 ? 0 : 4 * bits - 16;
    for (int h = 0; h < 2; h++) {
        uint32_t pick[VEC], shift[VEC];
        for (int l = 0; l < VEC; l++) {
            uint32_t bit = (uint32_t)((VEC * h + l) * bits - 8 * h * (int)c.second);
            uint32_t next = bit / 8 < 15 ? bit / 8 + 1 : 0x80; /* 0x80: zero */
            pick[l] = 0x80800000u | next << 8 | bit / 8;
            shift[l] = bit % 8;
        }
        c.pick[h] = _mm512_loadu_si512(pick);
        c.shift[h] = _mm512_loadu_si512(shift);
    }
    return c;
}
/* The first or the last 16 of the codes at p. */
TS_INLINE ivec ts_load_codes(const ts_codes32 *c, const uint8_t *p, int h)
{
    ivec all = _mm512_broadcast_i32x4(_mm_maskz_loadu_epi8(c->bytes, p + h * c->second));
    return _mm512_and_si512(_mm512_srlv_epi32(_mm512_shuffle_epi8(all, c->pick[h]), c->shift[h]), c->low);
}

/* out[i] = the sum of x[i], as lanes + 1, + 2, + 4, + 8 in turn. */
TS_INLINE void ts_sums16(const vec x[4], float out[4])
{
    vec a = _mm512_add_ps(_mm512_shuffle_ps(x[0], x[1], 0x88), _mm512_shuffle_ps(x[0], x[1], 0xdd));
    vec b = _mm512_add_ps(_mm512_shuffle_ps(x[2], x[3], 0x88), _mm512_shuffle_ps(x[2], x[3], 0xdd));
    vec c = _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xdd));
    c = _mm512_add_ps(c, _mm512_shuffle_f32x4(c, c, 0xb1));
    c = _mm512_add_ps(c, _mm512_shuffle_f32x4(c, c, 0x4e));
    _mm_storeu_ps(out, _mm512_castps512_ps128(c));
}
/* out[i] = x[i] summed from its first lane to its last. */
TS_INLINE void ts_chains16(const vec x[4], float out[4])
{
    vec a = _mm512_unpacklo_ps(x[0], x[1]), b = _mm512_unpackhi_ps(x[0], x[1]);
    vec c = _mm512_unpacklo_ps(x[2], x[3]), d = _mm512_unpackhi_ps(x[2], x[3]);
    const vec column[4] = {_mm512_shuffle_ps(a, c, 0x44), _mm512_shuffle_ps(a, c, 0xee),
                           _mm512_shuffle_ps(b, d, 0x44), _mm512_shuffle_ps(b, d, 0xee)};
    __m128 sum = _mm512_castps512_ps128(column[0]);
    for (int l = 1; l < 4; l++)
        sum = _mm_add_ps(sum, _mm512_castps512_ps128(column[l]));
    for (int l = 0; l < 4; l++)
        sum = _mm_add_ps(sum, _mm512_extractf32x4_ps(column[l], 1));
    for (int l = 0; l < 4; l++)
        sum = _mm_add_ps(sum, _mm512_extractf32x4_ps(column[l], 2));
    for (int l = 0; l < 4; l++)
        sum = _mm_add_ps(sum, _mm512_extractf32x4_ps(column[l], 3));
    _mm_storeu_ps(out, sum);
}

/* Into L1, or no further than L2: one line, or four. */
TS_INLINE void ts_prefetch_l1(const void *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T0);
}
TS_INLINE void ts_prefetch4_l1(const uint8_t *p)
{
    ts_prefetch_l1(p);
    ts_prefetch_l1(p + 64);
    ts_prefetch_l1(p + 128);
    ts_prefetch_l1(p + 192);
}
TS_INLINE void ts_prefetch4_l2(const uint8_t *p)
{
    v_prefetch(p);
    v_prefetch(p + 64);
    v_prefetch(p + 128);
    v_prefetch(p + 192);
}

/* --- probes --- */

TS_INLINE __m512i ts_zmm_load(const void *p)
{
    return _mm512_loadu_si512(p);
}

TS_INLINE void ts_zmm_store(void *p, __m512i x)
{
    _mm512_storeu_si512(p, x);
}

TS_INLINE __m512i ts_zmm_set32(int32_t x)
{
    return _mm512_set1_epi32(x);
}

TS_INLINE __m512i ts_zmm_add64(__m512i a, __m512i b)
{
    return _mm512_add_epi64(a, b);
}

TS_INLINE __m512i ts_zmm_xor(__m512i a, __m512i b)
{
    return _mm512_xor_si512(a, b);
}

/* Not the reduction intrinsic: where the headers write it as signed C, a wrap is undefined. */
TS_INLINE uint64_t ts_zmm_sum64(__m512i x)
{
    uint64_t lane[8], sum = 0;
    _mm512_storeu_si512(lane, x);
    for (int i = 0; i < 8; i++)
        sum += lane[i];
    return sum;
}

/* Per 32-bit lane: sum + the products of four unsigned bytes of a with four signed ones of b. */
TS_INLINE __m512i ts_zmm_dot_u8s8(__m512i sum, __m512i a, __m512i b)
{
    return _mm512_dpbusd_epi32(sum, a, b);
}

TS_INLINE void ts_prefetch(const void *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T0);
}

#endif
