#include <stdbool.h>

#include "num/convert.h"
#include "op.h"

/* The affine grid of one group: lo .. hi with the edge of larger magnitude on a grid point. */
static void fit(float lo, float hi, float levels, float (*nearest)(float), float *scale, float *bias)
{
    const int lower_edge = fabsf(lo) > fabsf(hi);
    float s = (hi - lo) / levels;
    s = s > 1e-7f ? s : 1e-7f;
    s = lower_edge ? s : -s;
    float edge = lower_edge ? lo : hi;
    float q0 = nearest(edge / s);
    *scale = q0 != 0 ? edge / q0 : s;
    *bias = q0 != 0 ? edge : 0;
}

static void range(const float *w, int group, float *lo, float *hi)
{
    for (int i = 0; i < group; i++) {
        *lo = w[i] < *lo ? w[i] : *lo;
        *hi = w[i] > *hi ? w[i] : *hi;
    }
}

/* In what the encoders differ. */
typedef struct {
    float (*nearest)(float);
    bool up_to_zero; /* max is at least 0 */
    bool bf16;       /* scale and bias are rounded before the codes are made */
} encoder;

static void encode(encoder e, const float *w, int64_t K, int bits, int group, uint8_t *code, float *scale,
                   float *bias)
{
    const float levels = (float)((1 << bits) - 1);
    for (int64_t g = 0; g < K / group; g++, w += group, code += group) {
        float lo = w[0], hi = e.up_to_zero ? 0 : w[0];
        range(w, group, &lo, &hi);
        fit(lo, hi, levels, e.nearest, &scale[g], &bias[g]);
        if (e.bf16) {
            scale[g] = ts_bf16_to_f32(ts_f32_to_bf16(scale[g]));
            bias[g] = ts_bf16_to_f32(ts_f32_to_bf16(bias[g]));
        }
        for (int i = 0; i < group; i++) {
            float q = e.nearest((w[i] - bias[g]) / scale[g]);
            q = q > 0 ? q : 0;
            code[i] = (uint8_t)(q < levels ? q : levels);
        }
    }
}

/* Encoder mlx-cpu, per group, n = 2^bits - 1:
 *   s = max((max - min) / n, 1e-7), negated unless |min| > |max|;  edge = whichever is larger in magnitude
 *   q0 = rint(edge / s);  if q0 != 0: s = edge / q0, b = edge;  else b = 0
 *   code = clamp(rint((w - b) / s), 0, n)
 * with s and b unrounded: the file holds them rounded to its own type, the codes do not change for that.
 * w, code [K]; scale, bias [K/group]. Always f32, every operation one rounding, no fma, rint ties to even.
 * A group whose max - min overflows gets an infinite scale: the caller checks. */
void ts_mlx_encode(const float *w, int64_t K, int bits, int group, uint8_t *code, float *scale, float *bias)
{
    encode((encoder){.nearest = rintf}, w, K, bits, group, code, scale, bias);
}

/* Encoder mlx-metal: mlx-cpu with three differences. max is at least 0 (its search starts there), so a group
 * of negative numbers gets a grid up to 0; ties go away from zero, for q0 and for codes; codes are not clamped
 * from below, which changes nothing (and is done here): w - b and s never have opposite signs, or the quotient
 * is within +-1/2. */
void ts_mlx_encode_metal(const float *w, int64_t K, int bits, int group, uint8_t *code, float *scale, float *bias)
{
    encode((encoder){.nearest = roundf, .up_to_zero = true}, w, K, bits, group, code, scale, bias);
}

/* Encoder lse: the grid of mlx-cpu with ties away from zero; then s and b are rounded to bf16, nearest even,
 * and the codes are those of the rounded pair: clamp(round((w - b) / s), 0, n). scale and bias are the rounded
 * ones: what the file holds is what the codes were made for. */
void ts_lse_encode(const float *w, int64_t K, int bits, int group, uint8_t *code, float *scale, float *bias)
{
    encode((encoder){.nearest = roundf, .bf16 = true}, w, K, bits, group, code, scale, bias);
}
