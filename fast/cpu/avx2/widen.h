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
TS_INLINE vec ts_widen8(ts_weight_format f, const void *p)
{
    return f == TS_W_F32 ? v_load(p) : f == TS_W_BF16 ? v_load_bf16(p) : v_load_f16(p);
}

/* 32 MLX codes at p: w = fma(scale, code, bias). */
TS_INLINE void ts_widen_codes32(const ts_codes32 *c, const uint8_t *p, vec scale, vec bias, float *out)
{
    for (int q = 0; q < 4; q++)
        v_store(out + q * VEC, v_fma(scale, ts_to_f32x8(ts_load_codes(c, p, q)), bias));
}

#endif
