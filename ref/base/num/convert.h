/* bf16 and f16 as uint16_t bit patterns. Narrowing rounds to nearest even,
 * subnormals included; overflow gives infinity; a NaN stays a NaN (quiet bit
 * set, sign and top payload bits kept). Widening is exact. */
#ifndef TS_NUM_CONVERT_H
#define TS_NUM_CONVERT_H

#include <stdint.h>
#include <string.h>

static inline uint32_t ts_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float ts_float(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline float ts_bf16_to_f32(uint16_t h)
{
    return ts_float((uint32_t)h << 16);
}

uint16_t ts_f32_to_bf16(float x);
uint16_t ts_f64_to_bf16(double x); /* one rounding, not two */
float ts_f16_to_f32(uint16_t h);
uint16_t ts_f32_to_f16(float x);
uint16_t ts_f64_to_f16(double x); /* one rounding, not two */

/* FP8 as OCP's specification of 8-bit floats has it (1.0, 2023), conversion in its saturating mode: nearest even,
 * subnormals included; beyond the largest finite value, infinities included, that value; a NaN is 0x7f with its
 * sign. E4M3 has no infinity and one NaN, E5M2 has both and is the upper byte of f16. */
#define TS_E4M3_MAX 448.0f
#define TS_E5M2_MAX 57344.0f
float ts_e4m3_to_f32(uint8_t c);
float ts_e5m2_to_f32(uint8_t c);
uint8_t ts_f32_to_e4m3(float x);
uint8_t ts_f32_to_e5m2(float x);

#endif
