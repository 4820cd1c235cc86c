#include "block.h"

#include <string.h>

enum { HIGH = 128, SCALES = 192, D = 208, GROUP = 16, GROUPS = TS_SUPER / GROUP };

/* Element i of a half of 128: low nibble in byte i % 64 of its 64, upper for i >= 64; bits 4 and 5 in byte i % 32
 * of its 32, at bit 2 (i / 32). */
static void codes(const uint8_t *b, uint8_t *code)
{
    for (int i = 0; i < TS_SUPER; i++) {
        int half = i / 128, j = i % 128;
        int low = b[half * 64 + j % 64] >> (j < 64 ? 0 : 4) & 15;
        code[i] = (uint8_t)(low | (b[HIGH + half * 32 + j % 32] >> 2 * (j / 32) & 3) << 4);
    }
}

static void pack(const uint8_t *code, uint8_t *b)
{
    memset(b, 0, SCALES);
    for (int i = 0; i < TS_SUPER; i++) {
        int half = i / 128, j = i % 128;
        uint8_t *low = &b[half * 64 + j % 64], *high = &b[HIGH + half * 32 + j % 32];
        *low = (uint8_t)(*low | (code[i] & 15) << (j < 64 ? 0 : 4));
        *high = (uint8_t)(*high | code[i] >> 4 << 2 * (j / 32));
    }
}

/* Q6_K, 256 values in 210 bytes: 128 bytes of low nibbles, 64 of upper bits, 16 signed scales s, f16 d.
 * x = fl(fl(d s) (q - 32)). */
static void decode(const uint8_t *b, ts_real *x)
{
    uint8_t code[TS_SUPER];
    codes(b, code);
    for (int i = 0; i < TS_SUPER; i++)
        x[i] = (ts_real)ts_block_half(b + D) * (int8_t)b[SCALES + i / GROUP] * (ts_real)(code[i] - 32);
}

/* sum x^2 x l and sum x^2 l l for the codes l = clamp(nearest(inverse x), -32, 31). */
static void sums(const float *x, float inverse, uint8_t *code, float *xl, float *l2)
{
    *xl = *l2 = 0;
    for (int i = 0; i < GROUP; i++) {
        int l = ts_block_clamp(ts_block_nearest(inverse * x[i]), -32, 31);
        float w = x[i] * x[i];
        code[i] = (uint8_t)(l + 32);
        *xl += w * x[i] * (float)l;
        *l2 += w * (float)l * (float)l;
    }
}

/* The scale of 16 values with the least squared error, weights x^2, of 19 grids -(32 + t/10) / max, t = -9 .. 9,
 * the middle one first. */
static float fit(const float *x, uint8_t *code)
{
    float amax, max = ts_block_largest(x, GROUP, &amax), xl, l2;
    memset(code, 0, GROUP);
    if (amax < 1e-15f)
        return 0;
    sums(x, -32 / max, code, &xl, &l2);
    float scale = l2 != 0 ? xl / l2 : 0, best = scale * xl;
    for (int t = -9; t <= 9; t++) {
        uint8_t other[GROUP];
        if (t == 0)
            continue;
        sums(x, -(32 + 0.1f * (float)t) / max, other, &xl, &l2);
        if (l2 > 0 && xl * xl > best * l2) {
            memcpy(code, other, GROUP);
            scale = xl / l2;
            best = scale * xl;
        }
    }
    return scale;
}

/* d = f16(1 / inverse), inverse = -128 / (the scale of largest magnitude); s = min(127, nearest(inverse scale));
 * codes once more of what was stored: clamp(nearest(x / (d s)), -32, 31). No scale of 1e-15: all zeros. */
static void encode(const float *x, uint8_t *b)
{
    uint8_t code[TS_SUPER];
    float scale[GROUPS], amax;
    for (int g = 0; g < GROUPS; g++)
        scale[g] = fit(x + GROUP * g, code + GROUP * g);
    float max = ts_block_largest(scale, GROUPS, &amax), inverse = -128 / max;
    if (amax < 1e-15f) {
        memset(b, 0, D + 2);
        return;
    }
    ts_block_put_half(b + D, 1 / inverse);
    for (int g = 0; g < GROUPS; g++) {
        int s = ts_block_nearest(inverse * scale[g]);
        b[SCALES + g] = (uint8_t)(s < 127 ? s : 127);
        float d = ts_block_half(b + D) * (float)(int8_t)b[SCALES + g];
        for (int i = GROUP * g; i < GROUP * (g + 1) && d != 0; i++)
            code[i] = (uint8_t)(ts_block_clamp(ts_block_nearest(x[i] / d), -32, 31) + 32);
    }
    pack(code, b);
}

/* Eight lanes as Q4_K, without minima. */
static ts_real dot(const uint8_t *w, const uint8_t *a, int64_t blocks)
{
    ts_block_lanes total = {{0}, 0};
    for (; blocks > 0; blocks--, w += D + 2, a += 292) {
        uint8_t code[TS_SUPER];
        int32_t lane[8] = {0};
        float da;
        memcpy(&da, a, sizeof da);
        codes(w, code);
        for (int i = 0; i < TS_SUPER; i++)
            lane[i % 8] += (int8_t)w[SCALES + i / GROUP] * (code[i] - 32) * (int8_t)a[4 + i];
        ts_real d = (ts_real)ts_block_half(w + D) * (ts_real)da;
        for (int l = 0; l < 8; l++)
            total.lane[l] = ts_fma(d, (ts_real)lane[l], total.lane[l]);
    }
    return ts_block_lanes_total(&total);
}

const ts_block_codec ts_q6_k = {.format = TS_W_Q6_K, .decode = decode, .encode = encode, .dot = dot};
