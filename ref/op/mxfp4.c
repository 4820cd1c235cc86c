#include "block.h"

/* Twice the sixteen values of e2m1; its negative zero is a zero. */
static const int8_t table[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* 2^(e - 128): half the block's scale; e = 255 is no NaN. */
static float half_scale(uint8_t e)
{
    return ts_float(e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23);
}

/* MXFP4, 32 values in 17 bytes: exponent e, 16 bytes of codes. x = table[q] 2^(e - 128). */
static void decode(const uint8_t *b, ts_real *x)
{
    uint8_t code[TS_BLOCK];
    ts_real d = (ts_real)half_scale(b[0]);
    ts_block_nibbles(b + 1, code);
    for (int j = 0; j < TS_BLOCK; j++)
        x[j] = table[code[j]] * d;
}

static uint8_t nearest(float x, float d)
{
    uint8_t best = 0;
    float least = fabsf(table[0] * d - x);
    for (uint8_t q = 1; q < 16; q++) {
        float e = fabsf(table[q] * d - x);
        if (e < least) {
            least = e;
            best = q;
        }
    }
    return best;
}

/* e = floor(log2 max |x|) - 2 + 127, 0 for zeros; q the code with the least |x - value|, the first of equals. */
static void encode(const float *x, uint8_t *b)
{
    uint8_t code[TS_BLOCK];
    float amax;
    ts_block_largest(x, TS_BLOCK, &amax);
    b[0] = amax > 0 ? (uint8_t)((int)floorf(log2f(amax)) - 2 + 127) : 0;
    for (int j = 0; j < TS_BLOCK; j++)
        code[j] = nearest(x[j], half_scale(b[0]));
    ts_block_pack_nibbles(code, b + 1);
}

/* y = chain of fma(fl(d_a d_w), sum, y). */
static ts_real dot(const uint8_t *w, const uint8_t *a, int64_t blocks)
{
    ts_real y = 0;
    for (; blocks > 0; blocks--, w += 17, a += 34) {
        uint8_t code[TS_BLOCK];
        int32_t sum = 0;
        ts_block_nibbles(w + 1, code);
        for (int j = 0; j < TS_BLOCK; j++)
            sum += table[code[j]] * (int8_t)a[2 + j];
        y = ts_fma((ts_real)ts_block_half(a) * (ts_real)half_scale(w[0]), (ts_real)sum, y);
    }
    return y;
}

const ts_block_codec ts_mxfp4 = {.format = TS_W_MXFP4, .decode = decode, .encode = encode, .dot = dot};
