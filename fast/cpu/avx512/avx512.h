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
