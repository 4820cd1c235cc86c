#include "block.h"

static void codes(const uint8_t *b, uint8_t *code)
{
    ts_block_nibbles(b + 8, code);
    ts_block_fifth(b + 4, code);
}

/* Q5_1, 32 values in 24 bytes: f16 d, f16 m, 4 bytes of fifth bits, 16 bytes of low nibbles. x = fl(fl(q d) + m).
 */
static void decode(const uint8_t *b, ts_real *x)
{
    uint8_t code[TS_BLOCK];
    ts_real d = (ts_real)ts_block_half(b), m = (ts_real)ts_block_half(b + 2);
    codes(b, code);
    for (int j = 0; j < TS_BLOCK; j++)
        x[j] = (ts_real)code[j] * d + m;
}

/* m = min, d = (max - min) / 31; q = trunc((x - min) (1/d) + 0.5), not clamped. */
static void encode(const float *x, uint8_t *b)
{
    uint8_t code[TS_BLOCK], low[TS_BLOCK];
    float min, max;
    ts_block_range(x, TS_BLOCK, &min, &max);
    float d = (max - min) / 31, inverse = ts_block_inverse(d);
    for (int j = 0; j < TS_BLOCK; j++) {
        code[j] = (uint8_t)ts_block_trunc((x[j] - min) * inverse + 0.5f);
        low[j] = code[j] & 15;
    }
    ts_block_put_half(b, d);
    ts_block_put_half(b + 2, min);
    ts_block_pack_fifth(code, b + 4);
    ts_block_pack_nibbles(low, b + 8);
}

/* y = chain of fl(y + fma(fl(d_w d_a), sum, fl(m_w s_a))). */
static ts_real dot(const uint8_t *w, const uint8_t *a, int64_t blocks)
{
    ts_real y = 0;
    for (; blocks > 0; blocks--, w += 24, a += 36) {
        uint8_t code[TS_BLOCK];
        codes(w, code);
        ts_real d = (ts_real)ts_block_half(w) * (ts_real)ts_block_half(a);
        ts_real m = (ts_real)ts_block_half(w + 2) * (ts_real)ts_block_half(a + 2);
        y += ts_fma(d, (ts_real)ts_block_sum(code, 0, a + 4), m);
    }
    return y;
}

const ts_block_codec ts_q5_1 = {.format = TS_W_Q5_1, .decode = decode, .encode = encode, .dot = dot};
