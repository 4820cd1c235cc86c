/* The intrinsics of this folder, named by what they do. */
#ifndef TS_FAST_AVX512_H
#define TS_FAST_AVX512_H

#include <immintrin.h>
#include <stdint.h>

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
