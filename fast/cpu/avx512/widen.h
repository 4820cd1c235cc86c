/* A piece of a row of weights as f32, as order dot32 wants it. */
#ifndef TS_FAST_AVX512_WIDEN_H
#define TS_FAST_AVX512_WIDEN_H

#include "format/matrix.h"

/* out[0..len) = weights (n, k..k+len). MLX: k and len are multiples of the group, and the group of 32. */
void ts_avx512_widen(const ts_matrix *w, int64_t n, int64_t k, int64_t len, float *out);

#endif
