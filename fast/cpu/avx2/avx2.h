/* The intrinsics of this folder, named by what they do. */
#ifndef TS_FAST_AVX2_H
#define TS_FAST_AVX2_H

#include <immintrin.h>
#include <stdint.h>

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
