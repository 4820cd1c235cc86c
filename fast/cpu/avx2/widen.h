/* Weights as f32, 8 at a time, as order dot32 wants them. MLX groups are multiples of 32, so that 32 weights share
 * a scale and a bias. */
#ifndef TS_FAST_AVX2_WIDEN_H
#define TS_FAST_AVX2_WIDEN_H

#include "cpu/avx2/avx2.h"
#include "cpu/portable/widen.h"

/* Bytes of a weight that is no code. */
TS_INLINE int64_t ts_bytes1(ts_weight_format f)
{
    return f == TS_W_F32 ? 4 : 2;
}

/* 8 weights that are no codes, at p. */
TS_INLINE ts_f32x8 ts_widen8(ts_weight_format f, const void *p)
{
    return f == TS_W_F32 ? ts_load8(p) : f == TS_W_BF16 ? ts_load_bf16(p) : ts_load_f16(p);
}

/* 32 MLX codes at p: w = fma(scale, code, bias). */
TS_INLINE void ts_widen_codes32(const ts_codes32 *c, const uint8_t *p, ts_f32x8 scale, ts_f32x8 bias, float *out)
{
    for (int q = 0; q < 4; q++)
        ts_store8(out + q * TS_F32X8, ts_fma8(scale, ts_to_f32x8(ts_load_codes(c, p, q)), bias));
}

#endif
