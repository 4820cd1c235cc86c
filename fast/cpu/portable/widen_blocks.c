#include "cpu/portable/widen_blocks.h"

#include <string.h>

#include "cpu/portable/widen.h"

static const float signed_table[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
static const float e2m1_table[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static float half_at(const uint8_t *b)
{
    uint16_t h;
    memcpy(&h, b, sizeof h);
    return ts_fast_half(h);
}

static uint32_t word_at(const uint8_t *b)
{
    uint32_t w;
    memcpy(&w, b, sizeof w);
    return w;
}

/* 32 codes of 4 or 5 bits: low nibbles, then high ones; `fifth` holds the fifth bits, or 0. */
static void offset_codes(const uint8_t *q, uint32_t fifth, int offset, float d, float m, float *x)
{
    for (int j = 0; j < 16; j++) {
        int low = (q[j] & 15) | (int)(fifth >> j & 1) << 4, high = q[j] >> 4 | (int)(fifth >> (j + 16) & 1) << 4;
        x[j] = (float)(low - offset) * d + m;
        x[j + 16] = (float)(high - offset) * d + m;
    }
}

static void table_codes(const uint8_t *q, const float *table, float d, float *x)
{
    for (int j = 0; j < 16; j++) {
        x[j] = table[q[j] & 15] * d;
        x[j + 16] = table[q[j] >> 4] * d;
    }
}

/* The formats without a minimum: a product that is -0 must stay so, which + 0 would not leave. */
static void scaled_codes(const uint8_t *q, uint32_t fifth, int offset, float d, float *x)
{
    offset_codes(q, fifth, offset, 1, 0, x);
    for (int j = 0; j < 32; j++)
        x[j] = x[j] * d;
}

static void q8_0(const uint8_t *b, float *x)
{
    float d = half_at(b);
    for (int j = 0; j < 32; j++)
        x[j] = (float)(int8_t)b[2 + j] * d;
}

/* Q4_K and Q5_K. Bytes of four sub-blocks at once: scales and minima of 6 bits. */
static void k_ranges(const uint8_t *b, const uint8_t *fifth, const uint8_t *q, float *x)
{
    uint32_t s = word_at(b + 4), m = word_at(b + 8), rest = word_at(b + 12);
    const uint32_t scale[2] = {s & 0x3f3f3f3fu, (rest & 0x0f0f0f0fu) | (s >> 2 & 0x30303030u)};
    const uint32_t min[2] = {m & 0x3f3f3f3fu, (rest >> 4 & 0x0f0f0f0fu) | (m >> 2 & 0x30303030u)};
    for (int g = 0; g < 8; g++) {
        float d = half_at(b) * (float)(scale[g / 4] >> 8 * (g % 4) & 63);
        float low = half_at(b + 2) * (float)(min[g / 4] >> 8 * (g % 4) & 63);
        for (int j = 0; j < 32; j++) {
            int code = q[g / 2 * 32 + j] >> 4 * (g % 2) & 15;
            code |= fifth ? (fifth[j] >> g & 1) << 4 : 0;
            x[32 * g + j] = d * (float)code - low;
        }
    }
}

/* A half's 64 low bytes and 32 upper ones hold four runs of 32. */
static void q6_k(const uint8_t *b, float *x)
{
    float d = half_at(b + 208);
    for (int run = 0; run < 8; run++)
        for (int j = 0; j < 32; j++) {
            int half = run / 4, r = run % 4;
            int low = b[half * 64 + r % 2 * 32 + j] >> (r < 2 ? 0 : 4) & 15;
            int high = b[128 + half * 32 + j] >> 2 * r & 3;
            float scale = d * (float)(int8_t)b[192 + 2 * run + j / 16];
            x[32 * run + j] = scale * (float)((low | high << 4) - 32);
        }
}

static void iq4_xs(const uint8_t *b, float *x)
{
    uint32_t high = word_at(b) >> 16;
    for (int g = 0; g < 8; g++) {
        int s = (b[4 + g / 2] >> 4 * (g % 2) & 15) | (int)(high >> 2 * g & 3) << 4;
        table_codes(b + 8 + 16 * g, signed_table, half_at(b) * (float)(s - 32), x + 32 * g);
    }
}

/* 2^(e - 128), which is subnormal for e < 2. */
static float half_power(uint8_t e)
{
    return e < 2 ? ts_float(0x00200000u << e) : ts_float((uint32_t)(e - 1) << 23);
}

void ts_widen_block(ts_weight_format format, const uint8_t *b, float *x)
{
    switch (format) {
    case TS_W_Q4_0:
        scaled_codes(b + 2, 0, 8, half_at(b), x);
        break;
    case TS_W_Q4_1:
        offset_codes(b + 4, 0, 0, half_at(b), half_at(b + 2), x);
        break;
    case TS_W_Q5_0:
        scaled_codes(b + 6, word_at(b + 2), 16, half_at(b), x);
        break;
    case TS_W_Q5_1:
        offset_codes(b + 8, word_at(b + 4), 0, half_at(b), half_at(b + 2), x);
        break;
    case TS_W_Q8_0:
        q8_0(b, x);
        break;
    case TS_W_Q4_K:
        k_ranges(b, NULL, b + 16, x);
        break;
    case TS_W_Q5_K:
        k_ranges(b, b + 16, b + 48, x);
        break;
    case TS_W_Q6_K:
        q6_k(b, x);
        break;
    case TS_W_IQ4_NL:
        table_codes(b + 2, signed_table, half_at(b), x);
        break;
    case TS_W_IQ4_XS:
        iq4_xs(b, x);
        break;
    case TS_W_MXFP4:
        table_codes(b + 1, e2m1_table, half_power(b[0]), x);
        break;
    default:
        break;
    }
}
