#include "block.h"

/* Q4_0, 32 values in 18 bytes: f16 d, 16 bytes of codes q. x = (q - 8) d: one rounding. */
static void decode(const uint8_t *b, ts_real *x)
{
    uint8_t code[TS_BLOCK];
    ts_real d = (ts_real)ts_block_half(b);
    ts_block_nibbles(b + 2, code);
    for (int j = 0; j < TS_BLOCK; j++)
        x[j] = (ts_real)(code[j] - 8) * d;
}

/* d = max / -8, max the first value of the largest magnitude; q = min(15, trunc(x (1/d) + 8.5)), 1/d of the
 * unrounded d. */
static void encode(const float *x, uint8_t *b)
{
    uint8_t code[TS_BLOCK];
    float amax, d = ts_block_largest(x, TS_BLOCK, &amax) / -8, inverse = ts_block_inverse(d);
    for (int j = 0; j < TS_BLOCK; j++) {
        int8_t q = (int8_t)ts_block_trunc(x[j] * inverse + 8.5f);
        code[j] = (uint8_t)(q < 15 ? q : 15);
    }
    ts_block_put_half(b, d);
    ts_block_pack_nibbles(code, b + 2);
}

/* y = chain of fma(fl(sum d_w), d_a, y), sum the exact integer product of a block. */
static ts_real dot(const uint8_t *w, const uint8_t *a, int64_t blocks)
{
    ts_real y = 0;
    for (; blocks > 0; blocks--, w += 18, a += 34) {
        uint8_t code[TS_BLOCK];
        ts_block_nibbles(w + 2, code);
        ts_real sum = (ts_real)ts_block_sum(code, 8, a + 2);
        y = ts_fma(sum * (ts_real)ts_block_half(w), (ts_real)ts_block_half(a), y);
    }
    return y;
}

const ts_block_codec ts_q4_0 = {.format = TS_W_Q4_0, .decode = decode, .encode = encode, .dot = dot};
