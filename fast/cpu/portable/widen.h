/* Weights as f32: what the dequantising schedules share. */
#ifndef TS_FAST_WIDEN_H
#define TS_FAST_WIDEN_H

#include "format/matrix.h"

/* out[0..len) = weights (n, k..k+len) widened; MLX: fma(scale, code, bias). */
void ts_widen(const ts_matrix *w, int64_t n, int64_t k, int64_t len, float *out);

/* Codes k..k+len of row n of an MLX matrix, unsigned. */
void ts_widen_codes(const ts_matrix *w, int64_t n, int64_t k, int64_t len, int16_t *code);

/* Scale and bias of group j of row n. */
float ts_widen_scale(const ts_matrix *w, int64_t n, int64_t j);
float ts_widen_bias(const ts_matrix *w, int64_t n, int64_t j);

#endif
