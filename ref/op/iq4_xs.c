#include "block.h"

#include <string.h>

/* IQ4_XS, 256 values in 136 bytes: f16 d, 16 upper bits of scales, 4 bytes of their low nibbles, 128 bytes of codes
 * into IQ4_NL's table, 16 bytes a sub-block of 32. */
static int scale(const uint8_t *b, int g)
{
    int low = b[4 + g / 2] >> 4 * (g % 2) & 15, high = (b[2] | b[3] << 8) >> 2 * g & 3;
    return (low | high << 4) - 32;
}

/* x = fl(fl(d s) table[q]). */
static void decode(const uint8_t *b, ts_real *x)
{
    for (int g = 0; g < TS_SUPER / TS_BLOCK; g++) {
        uint8_t code[TS_BLOCK];
        ts_real d = (ts_real)ts_block_half(b) * (ts_real)scale(b, g);
        ts_block_nibbles(b + 8 + TS_NIBBLES * g, code);
        for (int j = 0; j < TS_BLOCK; j++)
            x[TS_BLOCK * g + j] = d * ts_block_table[code[j]];
    }
}

/* Sub-blocks' scales as IQ4_NL's file rule fits them; d = -(that of largest magnitude) / 32,
 * s = clamp(nearest(scale / d), -32, 31), codes nearest to x / (d s), all with the unrounded d. */
static void encode(const float *x, uint8_t *b)
{
    float fitted[TS_SUPER / TS_BLOCK], amax;
    uint8_t code[TS_BLOCK];
    for (int g = 0; g < TS_SUPER / TS_BLOCK; g++)
        fitted[g] = ts_block_fit_table(x + TS_BLOCK * g, 7, code);
    float d = -ts_block_largest(fitted, TS_SUPER / TS_BLOCK, &amax) / 32, inverse = ts_block_inverse(d);
    memset(b, 0, 8);
    ts_block_put_half(b, d);
    for (int g = 0; g < TS_SUPER / TS_BLOCK; g++) {
        int s = ts_block_clamp(ts_block_nearest(inverse * fitted[g]), -32, 31);
        float each = ts_block_inverse(d * (float)s);
        for (int j = 0; j < TS_BLOCK; j++)
            code[j] = ts_block_table_index(each * x[TS_BLOCK * g + j]);
        ts_block_pack_nibbles(code, b + 8 + TS_NIBBLES * g);
        b[4 + g / 2] = (uint8_t)(b[4 + g / 2] | ((s + 32) & 15) << 4 * (g % 2));
        b[2 + g / 4] = (uint8_t)(b[2 + g / 4] | (s + 32) >> 4 << 2 * (g % 4));
    }
}

/* y = chain over sub-blocks of fma(fl(fl(d_w d_a) s), sum, y). */
static ts_real dot(const uint8_t *w, const uint8_t *a, int64_t blocks)
{
    ts_real y = 0;
    for (; blocks > 0; blocks--, w += 136, a += 292) {
        float da;
        memcpy(&da, a, sizeof da);
        ts_real d = (ts_real)ts_block_half(w) * (ts_real)da;
        for (int g = 0; g < TS_SUPER / TS_BLOCK; g++) {
            uint8_t code[TS_BLOCK];
            int32_t sum = 0;
            ts_block_nibbles(w + 8 + TS_NIBBLES * g, code);
            for (int j = 0; j < TS_BLOCK; j++)
                sum += ts_block_table[code[j]] * (int8_t)a[4 + TS_BLOCK * g + j];
            y = ts_fma(d * (ts_real)scale(w, g), (ts_real)sum, y);
        }
    }
    return y;
}

const ts_block_codec ts_iq4_xs = {.format = TS_W_IQ4_XS, .decode = decode, .encode = encode, .dot = dot};
