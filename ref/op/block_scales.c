#include "block.h"

#include <string.h>

/* Sub-block j < 4: scale in the low 6 bits of byte j, minimum in those of byte j + 4; j >= 4: low nibbles in byte
 * j + 4 (minimum above), bits 4 and 5 in the top bits of bytes j - 4 and j. */
void ts_block_scales(const uint8_t s[12], uint8_t scale[8], uint8_t min[8])
{
    for (int j = 0; j < 4; j++) {
        scale[j] = s[j] & 63;
        min[j] = s[j + 4] & 63;
        scale[j + 4] = (uint8_t)((s[j + 8] & 15) | s[j] >> 6 << 4);
        min[j + 4] = (uint8_t)(s[j + 8] >> 4 | s[j + 4] >> 6 << 4);
    }
}

void ts_block_pack_scales(const uint8_t scale[8], const uint8_t min[8], uint8_t s[12])
{
    for (int j = 0; j < 4; j++) {
        s[j] = (uint8_t)(scale[j] | scale[j + 4] >> 4 << 6);
        s[j + 4] = (uint8_t)(min[j] | min[j + 4] >> 4 << 6);
        s[j + 8] = (uint8_t)((scale[j + 4] & 15) | (min[j + 4] & 15) << 4);
    }
}

/* x = fl(fl(fl(d s) q) - fl(dmin m)), s and m of the value's sub-block. */
void ts_block_decode_ranges(const uint8_t *head, const uint8_t *code, ts_real *x)
{
    uint8_t s[8], m[8];
    ts_block_scales(head + 4, s, m);
    for (int g = 0; g < 8; g++) {
        ts_real d = (ts_real)ts_block_half(head) * s[g], low = (ts_real)ts_block_half(head + 2) * m[g];
        for (int i = TS_BLOCK * g; i < TS_BLOCK * (g + 1); i++)
            x[i] = d * code[i] - low;
    }
}

/* Sub-blocks' scales or minima as 6 bits: min(63, nearest(x 63 / max)). Returns max. */
static float six_bits(const float x[8], uint8_t code[8])
{
    float max = 0;
    for (int j = 0; j < 8; j++)
        max = x[j] > max ? x[j] : max;
    float inverse = max > 0 ? 63 / max : 0;
    for (int j = 0; j < 8; j++) {
        uint8_t q = (uint8_t)ts_block_nearest(inverse * x[j]);
        code[j] = q < 63 ? q : 63;
    }
    return max;
}

/* Of each sub-block: weights w_l = sqrt(sum x^2 / 32) + |x_l|, scale and minimum by ts_block_fit_range; these in 6
 * bits of their maxima, d and dmin = max / 63 in f16; then the codes once more, of what was stored:
 * q = clamp(nearest((x + dmin m) / (d s))). Where d s is 0 the codes of the fit stay. */
void ts_block_encode_ranges(const float *x, int levels, float first, int steps, uint8_t *head, uint8_t *code)
{
    float scale[8], minimum[8];
    uint8_t s[8], m[8];
    for (int j = 0; j < 8; j++) {
        const float *part = x + TS_BLOCK * j;
        float weight[TS_BLOCK], squares = 0;
        for (int l = 0; l < TS_BLOCK; l++)
            squares += part[l] * part[l];
        float mean = sqrtf(squares / TS_BLOCK);
        for (int l = 0; l < TS_BLOCK; l++)
            weight[l] = mean + fabsf(part[l]);
        scale[j] = ts_block_fit_range(part, weight, levels, first, steps, code + TS_BLOCK * j, &minimum[j]);
    }
    ts_block_put_half(head, six_bits(scale, s) / 63);
    ts_block_put_half(head + 2, six_bits(minimum, m) / 63);
    ts_block_pack_scales(s, m, head + 4);
    for (int j = 0; j < 8; j++) {
        float d = ts_block_half(head) * (float)s[j], low = ts_block_half(head + 2) * (float)m[j];
        for (int l = TS_BLOCK * j; l < TS_BLOCK * (j + 1) && d != 0; l++)
            code[l] = (uint8_t)ts_block_clamp(ts_block_nearest((x[l] + low) / d), 0, levels);
    }
}

/* One super-block: lane l gathers the products of elements l, l + 8, .. times their scales, exactly; then
 * lane = fma(fl(d d_a), sum, lane) and rest = fma(-fl(dmin d_a), sum of minima, rest). */
void ts_block_lanes_add(ts_block_lanes *sums, const uint8_t *head, const uint8_t *code, const uint8_t *a)
{
    uint8_t scale[8], min[8];
    int32_t lane[8] = {0}, minima = 0;
    float da;
    memcpy(&da, a, sizeof da);
    ts_block_scales(head + 4, scale, min);
    for (int i = 0; i < TS_SUPER; i++)
        lane[i % 8] += scale[i / TS_BLOCK] * code[i] * (int8_t)a[4 + i];
    for (int g = 0; g < TS_SUPER / 16; g++) {
        int16_t sum;
        memcpy(&sum, a + 4 + TS_SUPER + 2 * g, sizeof sum);
        minima += sum * min[g / 2];
    }
    ts_real d = (ts_real)ts_block_half(head) * (ts_real)da, low = (ts_real)ts_block_half(head + 2) * (ts_real)da;
    for (int l = 0; l < 8; l++)
        sums->lane[l] = ts_fma(d, (ts_real)lane[l], sums->lane[l]);
    sums->rest = ts_fma(-low, (ts_real)minima, sums->rest);
}

/* fl(.. fl(rest + lane 0) .. + lane 7). */
ts_real ts_block_lanes_total(const ts_block_lanes *sums)
{
    ts_real y = sums->rest;
    for (int l = 0; l < 8; l++)
        y += sums->lane[l];
    return y;
}
