/* What the schedules of this folder need of AVX-512, VNNI and GFNI, by name. Loads and stores need no alignment. */
#ifndef TS_FAST_AVX512_H
#define TS_FAST_AVX512_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

/* --- matmul --- */

typedef __m512 ts_f32x16;
typedef __m512i ts_i32x16; /* or 64 bytes */
typedef __mmask16 ts_mask16;

enum { TS_F32X16 = 16 };

#define TS_INLINE static inline __attribute__((always_inline))

TS_INLINE ts_f32x16 ts_zero16(void)
{
    return _mm512_setzero_ps();
}
TS_INLINE ts_f32x16 ts_all16(float x)
{
    return _mm512_set1_ps(x);
}
TS_INLINE ts_f32x16 ts_load16(const float *p)
{
    return _mm512_loadu_ps(p);
}
TS_INLINE void ts_store16(float *p, ts_f32x16 x)
{
    _mm512_storeu_ps(p, x);
}
TS_INLINE ts_f32x16 ts_add16(ts_f32x16 a, ts_f32x16 b)
{
    return _mm512_add_ps(a, b);
}
TS_INLINE ts_f32x16 ts_mul16(ts_f32x16 a, ts_f32x16 b)
{
    return _mm512_mul_ps(a, b);
}
TS_INLINE ts_f32x16 ts_fma16(ts_f32x16 a, ts_f32x16 b, ts_f32x16 c)
{
    return _mm512_fmadd_ps(a, b, c);
}

/* Lanes first <= l < end, cut to 0..16. */
TS_INLINE ts_mask16 ts_lanes_of(int64_t first, int64_t end)
{
    uint32_t below = end >= TS_F32X16 ? 0xffffu : (1u << (end > 0 ? end : 0)) - 1;
    return (ts_mask16)(first > 0 ? below >> first << first : below);
}
TS_INLINE void ts_store16_of(float *p, ts_mask16 lanes, ts_f32x16 x)
{
    _mm512_mask_storeu_ps(p, lanes, x);
}
/* Other lanes are +0, and what lies there is not touched. */
TS_INLINE ts_f32x16 ts_load16_of(const float *p, ts_mask16 lanes)
{
    return _mm512_maskz_loadu_ps(lanes, p);
}

TS_INLINE ts_i32x16 ts_zero_i16(void)
{
    return _mm512_setzero_si512();
}
TS_INLINE ts_i32x16 ts_load_line(const void *p)
{
    return _mm512_loadu_si512(p);
}
TS_INLINE ts_i32x16 ts_add_i16(ts_i32x16 a, ts_i32x16 b)
{
    return _mm512_add_epi32(a, b);
}
/* The 4 bytes at p in every lane. */
TS_INLINE ts_i32x16 ts_all_bytes4(const int8_t *p)
{
    int32_t word;
    memcpy(&word, p, sizeof word);
    return _mm512_set1_epi32(word);
}
/* Per lane: acc + 4 products of unsigned bytes of u with signed ones of s, exact. */
TS_INLINE ts_i32x16 ts_dot4(ts_i32x16 acc, ts_i32x16 u, ts_i32x16 s)
{
    return _mm512_dpbusd_epi32(acc, u, s);
}
TS_INLINE ts_i32x16 ts_low_nibbles(ts_i32x16 v)
{
    return _mm512_and_si512(v, _mm512_set1_epi8(15));
}
/* As a bit matrix: one instruction, where x86 has no shift of bytes. */
TS_INLINE ts_i32x16 ts_high_nibbles(ts_i32x16 v)
{
    return _mm512_gf2p8affine_epi64_epi8(v, _mm512_set1_epi64(0x1020408000000000), 0);
}
TS_INLINE ts_f32x16 ts_to_f32x16(ts_i32x16 v)
{
    return _mm512_cvtepi32_ps(v);
}
/* Words whose upper or lower half is a bf16, widened. */
TS_INLINE ts_f32x16 ts_upper_bf16(ts_i32x16 v)
{
    return _mm512_castsi512_ps(_mm512_and_si512(v, _mm512_set1_epi32((int)0xffff0000)));
}
TS_INLINE ts_f32x16 ts_lower_bf16(ts_i32x16 v)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(v, 16));
}

/* acc where lanes are off */
TS_INLINE ts_f32x16 ts_fma16_of(ts_mask16 lanes, ts_f32x16 a, ts_f32x16 b, ts_f32x16 acc)
{
    return _mm512_mask3_fmadd_ps(a, b, acc, lanes);
}
TS_INLINE ts_f32x16 ts_abs16(ts_f32x16 x)
{
    return _mm512_abs_ps(x);
}
/* a where it is larger, else b: also where one is NaN */
TS_INLINE ts_f32x16 ts_max16(ts_f32x16 a, ts_f32x16 b)
{
    return _mm512_max_ps(a, b);
}
TS_INLINE float ts_largest16(ts_f32x16 x)
{
    return _mm512_reduce_max_ps(x);
}
TS_INLINE ts_mask16 ts_at_most16(ts_f32x16 a, ts_f32x16 b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
}
/* Rounded to integers, ties to even; 0 where lanes are off. */
TS_INLINE ts_i32x16 ts_round16_of(ts_mask16 lanes, ts_f32x16 x)
{
    return _mm512_maskz_cvtps_epi32(lanes, x);
}
/* The low bytes of the lanes. */
TS_INLINE void ts_store_bytes16(int8_t *p, ts_i32x16 x)
{
    _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8(x));
}

/* 16 bf16 or f16, widened. */
TS_INLINE ts_f32x16 ts_load_bf16(const uint16_t *p)
{
    __m256i half = _mm256_loadu_si256((const __m256i *)(const void *)p);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}
TS_INLINE ts_f32x16 ts_load_f16(const uint16_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
/* Other lanes are +0. */
TS_INLINE ts_f32x16 ts_load_bf16_of(const uint16_t *p, ts_mask16 lanes)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, p)), 16));
}
TS_INLINE ts_f32x16 ts_load_f16_of(const uint16_t *p, ts_mask16 lanes)
{
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(lanes, p));
}

/* How 32 codes of 2..8 bits, one after another in 4*bits bytes, come into two times 16 lanes. */
typedef struct {
    ts_i32x16 pick[2], shift[2]; /* two of 16 bytes for every lane; where in them its code begins */
    ts_i32x16 low;               /* the bits of a code */
    ts_mask16 bytes;
    int64_t second; /* where the 16 bytes begin that the last 16 codes are in */
} ts_codes32;

TS_INLINE ts_codes32 ts_codes32_of(int bits)
{
    ts_codes32 c = {.low = _mm512_set1_epi32((1 << bits) - 1)};
    c.bytes = (ts_mask16)(bits < 4 ? (1 << 4 * bits) - 1 : 0xffff);
    c.second = bits < 4 ? 0 : 4 * bits - 16;
    for (int h = 0; h < 2; h++) {
        uint32_t pick[TS_F32X16], shift[TS_F32X16];
        for (int l = 0; l < TS_F32X16; l++) {
            uint32_t bit = (uint32_t)((TS_F32X16 * h + l) * bits - 8 * h * (int)c.second);
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
TS_INLINE ts_i32x16 ts_load_codes(const ts_codes32 *c, const uint8_t *p, int h)
{
    ts_i32x16 all = _mm512_broadcast_i32x4(_mm_maskz_loadu_epi8(c->bytes, p + h * c->second));
    return _mm512_and_si512(_mm512_srlv_epi32(_mm512_shuffle_epi8(all, c->pick[h]), c->shift[h]), c->low);
}

/* out[i] = the sum of x[i], as lanes + 1, + 2, + 4, + 8 in turn. */
TS_INLINE void ts_sums16(const ts_f32x16 x[4], float out[4])
{
    ts_f32x16 a = _mm512_add_ps(_mm512_shuffle_ps(x[0], x[1], 0x88), _mm512_shuffle_ps(x[0], x[1], 0xdd));
    ts_f32x16 b = _mm512_add_ps(_mm512_shuffle_ps(x[2], x[3], 0x88), _mm512_shuffle_ps(x[2], x[3], 0xdd));
    ts_f32x16 c = _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xdd));
    c = _mm512_add_ps(c, _mm512_shuffle_f32x4(c, c, 0xb1));
    c = _mm512_add_ps(c, _mm512_shuffle_f32x4(c, c, 0x4e));
    _mm_storeu_ps(out, _mm512_castps512_ps128(c));
}
/* out[i] = x[i] summed from its first lane to its last. */
TS_INLINE void ts_chains16(const ts_f32x16 x[4], float out[4])
{
    ts_f32x16 a = _mm512_unpacklo_ps(x[0], x[1]), b = _mm512_unpackhi_ps(x[0], x[1]);
    ts_f32x16 c = _mm512_unpacklo_ps(x[2], x[3]), d = _mm512_unpackhi_ps(x[2], x[3]);
    const ts_f32x16 column[4] = {_mm512_shuffle_ps(a, c, 0x44), _mm512_shuffle_ps(a, c, 0xee),
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
TS_INLINE void ts_prefetch_l2(const void *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T1);
}
TS_INLINE void ts_prefetch4_l2(const uint8_t *p)
{
    ts_prefetch_l2(p);
    ts_prefetch_l2(p + 64);
    ts_prefetch_l2(p + 128);
    ts_prefetch_l2(p + 192);
}

#endif
