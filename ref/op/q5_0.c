#include "block.h"

static void codes(const uint8_t *b, uint8_t *code)
{
    ts_block_nibbles(b + 6, code);
    ts_block_fifth(b + 2, code);
}

/* Q5_0, 32 values in 22 bytes: f16 d, 4 bytes of fifth bits, 16 bytes of low nibbles. x = (q - 16) d. */
static void decode(const uint8_t *b, ts_real *x)
{
    uint8_t code[TS_BLOCK];
    ts_real d = (ts_real)ts_block_half(b);
    codes(b, code);
    for (int j = 0; j < TS_BLOCK; j++)
        x[j] = (ts_real)(code[j] - 16) * d;
}

/* As Q4_0 with d = max / -16 and q = min(31, trunc(x (1/d) + 16.5)). */
static void encode(const float *x, uint8_t *b)
{
    uint8_t code[TS_BLOCK], low[TS_BLOCK];
    float amax, d = ts_block_largest(x, TS_BLOCK, &amax) / -16, inverse = ts_block_inverse(d);
    for (int j = 0; j < TS_BLOCK; j++) {
        int8_t q = (int8_t)ts_block_trunc(x[j] * inverse + 16.5f);
        code[j] = (uint8_t)(q < 31 ? q : 31);
        low[j] = code[j] & 15;
    }
    ts_block_put_half(b, d);
    ts_block_pack_fifth(code, b + 2);
    ts_block_pack_nibbles(low, b + 6);
}

/* y = chain of fma(fl(d_w d_a), sum, y). */
static ts_real dot(const uint8_t *w, const uint8_t *a, int64_t blocks)
{
    ts_real y = 0;
    for (; blocks > 0; blocks--, w += 22, a += 34) {
        uint8_t code[TS_BLOCK];
        codes(w, code);
        ts_real d = (ts_real)ts_block_half(w) * (ts_real)ts_block_half(a);
        y = ts_fma(d, (ts_real)ts_block_sum(code, 16, a + 2), y);
    }
    return y;
}

const ts_block_codec ts_q5_0 = {.format = TS_W_Q5_0, .decode = decode, .encode = encode, .dot = dot};
