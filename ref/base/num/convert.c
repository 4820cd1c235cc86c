#include "num/convert.h"

/* m / 2^s rounded to nearest even, 1 <= s <= 31. */
static uint32_t shift_rne(uint32_t m, uint32_t s)
{
    return (m + ((uint32_t)1 << (s - 1)) - 1 + (m >> s & 1)) >> s;
}

/* In every function below, a carry out of the mantissa raises the exponent, and
 * from the largest finite value gives infinity: exactly what rounding needs. */

uint16_t ts_f32_to_bf16(float x)
{
    uint32_t u = ts_bits(x);
    if ((u & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(u >> 16 | 0x40); /* quiet bit: a payload in the low half alone must not become infinity */
    return (uint16_t)shift_rne(u, 16);
}

/* x, not a NaN, rounded to odd in f32: an inexact result gets an odd last bit. f32 has 13 bits more than
 * f16 and 16 more than bf16, so a second rounding sees on which side of a tie x lies. */
static uint32_t odd_f32(double x)
{
    float near = (float)x;
    double back = (double)near;
    uint32_t odd = ts_bits(near);
    if (back != x && (odd & 1) == 0)
        odd += (x < 0 ? back < x : back > x) ? (uint32_t)-1 : 1; /* towards x, in magnitude */
    return odd;
}

static uint64_t f64_bits(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

uint16_t ts_f64_to_bf16(double x)
{
    uint64_t u = f64_bits(x);
    if ((u & 0x7fffffffffffffff) > 0x7ff0000000000000)
        return (uint16_t)((u >> 48 & 0x8000) | 0x7fc0 | (u >> 45 & 0x3f));
    return (uint16_t)shift_rne(odd_f32(x), 16);
}

uint16_t ts_f64_to_f16(double x)
{
    uint64_t u = f64_bits(x);
    if ((u & 0x7fffffffffffffff) > 0x7ff0000000000000)
        return (uint16_t)((u >> 48 & 0x8000) | 0x7e00 | (u >> 42 & 0x1ff));
    return ts_f32_to_f16(ts_float(odd_f32(x)));
}

float ts_f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 0x3ff;
    if (exponent == 31)
        return ts_float(sign | 0x7f800000 | mantissa << 13);
    if (exponent != 0)
        return ts_float(sign | (exponent + 112) << 23 | mantissa << 13); /* bias 127 - 15 */
    float magnitude = (float)mantissa * 0x1p-24f;
    return ts_float(sign | ts_bits(magnitude));
}

uint16_t ts_f32_to_f16(float x)
{
    uint32_t u = ts_bits(x), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
    if (a > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (a >> 13 & 0x1ff));
    if (a >= 0x47800000) /* 2^16; the carry takes care of 65520 and above */
        return (uint16_t)(sign | 0x7c00);
    if (a >= 0x38800000) /* 2^-14, the smallest normal */
        return (uint16_t)(sign | shift_rne(a - ((uint32_t)112 << 23), 13));
    uint32_t shift = 126 - (a >> 23); /* from units of 2^(exponent-150) to units of 2^-24 */
    if (shift > 24)                   /* below 2^-25, half the smallest subnormal */
        return (uint16_t)sign;
    return (uint16_t)(sign | shift_rne((a & 0x7fffff) | 0x800000, shift));
}

float ts_e4m3_to_f32(uint8_t c)
{
    uint32_t sign = (uint32_t)(c & 0x80) << 24, exponent = c >> 3 & 15, mantissa = c & 7;
    if ((c & 0x7f) == 0x7f)
        return ts_float(sign | 0x7fc00000);
    if (exponent != 0)
        return ts_float(sign | (exponent + 120) << 23 | mantissa << 20); /* bias 127 - 7 */
    float magnitude = (float)mantissa * 0x1p-9f;
    return ts_float(sign | ts_bits(magnitude));
}

float ts_e5m2_to_f32(uint8_t c)
{
    return ts_f16_to_f32((uint16_t)(c << 8));
}

/* To sign, exponent of `bias` and `bits` of mantissa; `largest` is the code of the largest finite value. */
static uint8_t narrow8(float x, uint32_t bits, uint32_t bias, uint32_t largest)
{
    uint32_t u = ts_bits(x), sign = u >> 24 & 0x80, a = u & 0x7fffffff, exponent = a >> 23;
    if (a > 0x7f800000)
        return (uint8_t)(sign | 0x7f);
    if (exponent > 127 - bias) { /* normal here too */
        uint32_t code = shift_rne(a - ((127 - bias) << 23), 23 - bits);
        return (uint8_t)(sign | (code < largest ? code : largest));
    }
    uint32_t shift = 23 - bits + 128 - bias - exponent;
    if (shift > 24) /* below half the smallest subnormal */
        return (uint8_t)sign;
    return (uint8_t)(sign | shift_rne((a & 0x7fffff) | 0x800000, shift));
}

uint8_t ts_f32_to_e4m3(float x)
{
    return narrow8(x, 3, 7, 0x7e);
}

uint8_t ts_f32_to_e5m2(float x)
{
    return narrow8(x, 2, 15, 0x7b);
}
