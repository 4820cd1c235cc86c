/* Weights as f32, 32 at a time, as order dot32 wants them. MLX groups are multiples of 32, so that 32 weights share
 * a scale and a bias. */
#ifndef TS_FAST_AVX512_WIDEN_H
#define TS_FAST_AVX512_WIDEN_H

#include "cpu/avx512/avx512.h"
#include "cpu/portable/widen.h"

enum { TS_LANES32 = 32 };

/* Bytes of 32 weights, but for scales and biases. */
TS_INLINE int64_t ts_bytes32(ts_weight_format f, int bits)
{
    return f == TS_W_F32 ? 4 * TS_LANES32 : f == TS_W_MLX ? TS_LANES32 * bits / 8 : 2 * TS_LANES32;
}

/* 16 weights that are no codes, at p. */
TS_INLINE vec ts_widen16(ts_weight_format f, const void *p)
{
    return f == TS_W_F32 ? v_load(p) : f == TS_W_BF16 ? v_load_bf16(p) : v_load_f16(p);
}
TS_INLINE vec ts_widen16_of(ts_weight_format f, const void *p, vmask lanes)
{
    return f == TS_W_F32    ? v_load_some(p, lanes)
           : f == TS_W_BF16 ? v_load_some_bf16(p, lanes)
                            : v_load_some_f16(p, lanes);
}

/* Scale or bias i. */
TS_INLINE vec ts_widen_aux(ts_dtype dtype, const void *data, int64_t i)
{
    if (dtype == TS_F32)
        return v_all(((const float *)data)[i]);
    uint16_t half = ((const uint16_t *)data)[i];
    return v_all(dtype == TS_BF16 ? ts_bf16_to_f32(half) : ts_fast_half(half));
}
/* w = fma(scale, code, bias) */
TS_INLINE vec ts_widen_codes16(const ts_codes32 *c, const uint8_t *p, int h, vec scale, vec bias)
{
    return v_fma(scale, ts_to_f32x16(ts_load_codes(c, p, h)), bias);
}

/* Matrices that order dot32 can take this way. */
TS_INLINE bool ts_widens32(const ts_matrix *w)
{
    return w->format < TS_W_MLX || (w->format == TS_W_MLX && w->group % TS_LANES32 == 0);
}

#endif
