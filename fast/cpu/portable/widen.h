/* Weights as f32: what the dequantising schedules share. */
#ifndef TS_FAST_WIDEN_H
#define TS_FAST_WIDEN_H

#include "format/matrix.h"
#include "num/convert.h"

/* f16 widened. Exponent and mantissa moved into place are 2^-112 too small, subnormals included. */
static inline float ts_fast_half(uint16_t h)
{
    uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13;
    uint32_t special = (h & 0x7c00) == 0x7c00 ? 0x7f800000u : 0;
    uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    return ts_float(ts_bits(ts_float(magnitude) * 0x1p112f) | special | sign);
}

/* out[0..len) = weights (n, k..k+len) widened; MLX: fma(scale, code, bias). */
void ts_widen(const ts_matrix *w, int64_t n, int64_t k, int64_t len, float *out);

/* Codes k..k+len of row n of an MLX matrix, unsigned. */
void ts_widen_codes(const ts_matrix *w, int64_t n, int64_t k, int64_t len, int16_t *code);

/* Scale and bias of group j of row n. */
float ts_widen_scale(const ts_matrix *w, int64_t n, int64_t j);
float ts_widen_bias(const ts_matrix *w, int64_t n, int64_t j);

#endif
