/* What the schedules of this folder need of AVX2 and FMA, by name. Loads and stores need no alignment. */
#ifndef TS_FAST_AVX2_H
#define TS_FAST_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

/* --- matmul --- */

typedef __m256 ts_f32x8;
typedef __m256i ts_i32x8; /* or 32 bytes, or 16 of 16 bits */

enum { TS_F32X8 = 8 };

#define TS_INLINE static inline __attribute__((always_inline))

TS_INLINE ts_f32x8 ts_zero8(void)
{
    return _mm256_setzero_ps();
}
TS_INLINE ts_f32x8 ts_all8(float x)
{
    return _mm256_set1_ps(x);
}
TS_INLINE ts_f32x8 ts_load8(const float *p)
{
    return _mm256_loadu_ps(p);
}
TS_INLINE void ts_store8(float *p, ts_f32x8 x)
{
    _mm256_storeu_ps(p, x);
}
TS_INLINE ts_f32x8 ts_add8(ts_f32x8 a, ts_f32x8 b)
{
    return _mm256_add_ps(a, b);
}
TS_INLINE ts_f32x8 ts_mul8(ts_f32x8 a, ts_f32x8 b)
{
    return _mm256_mul_ps(a, b);
}
TS_INLINE ts_f32x8 ts_fma8(ts_f32x8 a, ts_f32x8 b, ts_f32x8 c)
{
    return _mm256_fmadd_ps(a, b, c);
}
TS_INLINE ts_f32x8 ts_abs8(ts_f32x8 x)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
}
/* a where it is larger, else b: also where one is NaN */
TS_INLINE ts_f32x8 ts_max8(ts_f32x8 a, ts_f32x8 b)
{
    return _mm256_max_ps(a, b);
}
TS_INLINE float ts_largest8(ts_f32x8 x)
{
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

TS_INLINE ts_i32x8 ts_zero_i8(void)
{
    return _mm256_setzero_si256();
}
TS_INLINE ts_i32x8 ts_load_32bytes(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}
TS_INLINE ts_i32x8 ts_low_nibbles(ts_i32x8 v)
{
    return _mm256_and_si256(v, _mm256_set1_epi8(15));
}
TS_INLINE ts_i32x8 ts_high_nibbles(ts_i32x8 v)
{
    return _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(15));
}
/* The 4 bytes at p in every lane. */
TS_INLINE ts_i32x8 ts_all_bytes4(const int8_t *p)
{
    int32_t word;
    memcpy(&word, p, sizeof word);
    return _mm256_set1_epi32(word);
}
/* Per 16 bits: acc + 2 products of nibbles u with signed bytes s. At most 8 times: 8 * 2 * 15 * 127 < 2^15. */
TS_INLINE ts_i32x8 ts_dot2(ts_i32x8 acc, ts_i32x8 u, ts_i32x8 s)
{
    return _mm256_add_epi16(acc, _mm256_maddubs_epi16(u, s));
}
/* Neighbours of 16 bits added to 32. */
TS_INLINE ts_i32x8 ts_pairs(ts_i32x8 v)
{
    return _mm256_madd_epi16(v, _mm256_set1_epi16(1));
}
TS_INLINE ts_i32x8 ts_add_i8(ts_i32x8 a, ts_i32x8 b)
{
    return _mm256_add_epi32(a, b);
}
TS_INLINE ts_i32x8 ts_times16(ts_i32x8 v)
{
    return _mm256_slli_epi32(v, 4);
}
TS_INLINE ts_f32x8 ts_to_f32x8(ts_i32x8 v)
{
    return _mm256_cvtepi32_ps(v);
}
/* Words whose upper or lower half is a bf16, widened. */
TS_INLINE ts_f32x8 ts_upper_bf16(ts_i32x8 v)
{
    return _mm256_castsi256_ps(_mm256_and_si256(v, _mm256_set1_epi32((int)0xffff0000)));
}
TS_INLINE ts_f32x8 ts_lower_bf16(ts_i32x8 v)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(v, 16));
}

/* Rounded to integers, ties to even; 0 where |x| is more than `most` or x is NaN. */
TS_INLINE ts_i32x8 ts_round8(ts_f32x8 x, float most)
{
    __m256 fits = _mm256_cmp_ps(ts_abs8(x), ts_all8(most), _CMP_LE_OQ);
    return _mm256_cvtps_epi32(_mm256_and_ps(x, fits));
}
/* The low bytes of 16 lanes, which are -128..127. */
TS_INLINE void ts_store_bytes16(int8_t *p, ts_i32x8 a, ts_i32x8 b)
{
    __m256i half = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xd8);
    __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    _mm_storeu_si128((__m128i *)(void *)p, bytes);
}

/* 8 bf16, widened. */
TS_INLINE ts_f32x8 ts_load_bf16(const uint16_t *p)
{
    __m128i half = _mm_loadu_si128((const __m128i *)(const void *)p);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}
/* 8 f16, widened by integers and an exact product: F16C is an instruction set of its own. */
TS_INLINE ts_f32x8 ts_load_f16(const uint16_t *p)
{
    const __m256i infinite = _mm256_set1_epi32(0x7c00);
    __m256i h = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
    __m256i sign = _mm256_slli_epi32(_mm256_and_si256(h, _mm256_set1_epi32(0x8000)), 16);
    __m256i special = _mm256_cmpeq_epi32(_mm256_and_si256(h, infinite), infinite);
    __m256 x = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_and_si256(h, _mm256_set1_epi32(0x7fff)), 13));
    x = _mm256_mul_ps(x, _mm256_set1_ps(0x1p112f));
    special = _mm256_and_si256(special, _mm256_set1_epi32(0x7f800000));
    return _mm256_or_ps(x, _mm256_castsi256_ps(_mm256_or_si256(sign, special)));
}

/* How 32 codes of 2..8 bits, one after another in 4*bits bytes, come into four times 8 lanes. */
typedef struct {
    ts_i32x8 pick[4], shift[4]; /* two of 16 bytes for every lane; where in them its code begins */
    ts_i32x8 low;               /* the bits of a code */
    int64_t bytes, second;      /* of 32 codes; where the 16 bytes begin that the last 16 codes are in */
} ts_codes32;

TS_INLINE ts_codes32 ts_codes32_of(int bits)
{
    ts_codes32 c = {.low = _mm256_set1_epi32((1 << bits) - 1), .bytes = 4 * bits};
    c.second = bits < 4 ? 0 : 4 * bits - 16;
    for (int q = 0; q < 4; q++) {
        uint32_t pick[TS_F32X8], shift[TS_F32X8];
        for (int l = 0; l < TS_F32X8; l++) {
            uint32_t bit = (uint32_t)((TS_F32X8 * q + l) * bits - (q < 2 ? 0 : 8 * (int)c.second));
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
TS_INLINE ts_i32x8 ts_load_codes(const ts_codes32 *c, const uint8_t *p, int q)
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
TS_INLINE float ts_sum8(ts_f32x8 x)
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

#endif
