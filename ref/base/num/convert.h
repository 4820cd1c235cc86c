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

#endif
