#include "block.h"

/* Q4_1, 32 values in 20 bytes: f16 d, f16 m, 16 bytes of codes q. x = fl(fl(q d) + m). */
static void decode(const uint8_t *b, ts_real *x)
{
    uint8_t code[TS_BLOCK];
    ts_real d = (ts_real)ts_block_half(b), m = (ts_real)ts_block_half(b + 2);
    ts_block_nibbles(b + 4, code);
    for (int j = 0; j < TS_BLOCK; j++)
        x[j] = (ts_real)code[j] * d + m;
}

/* m = min, d = (max - min) / 15; q = min(15, trunc((x - min) (1/d) + 0.5)). */
static void encode(const float *x, uint8_t *b)
{
    uint8_t code[TS_BLOCK];
    float min, max;
    ts_block_range(x, TS_BLOCK, &min, &max);
    float d = (max - min) / 15, inverse = ts_block_inverse(d);
    for (int j = 0; j < TS_BLOCK; j++) {
        int8_t q = (int8_t)ts_block_trunc((x[j] - min) * inverse + 0.5f);
        code[j] = (uint8_t)(q < 15 ? q : 15);
    }
    ts_block_put_half(b, d);
    ts_block_put_half(b + 2, min);
    ts_block_pack_nibbles(code, b + 4);
}

/* y = chain of fl(y + fma(fl(d_w d_a), sum, fl(m_w s_a))), s_a the activations' f16 sum. */
static ts_real dot(const uint8_t *w, const uint8_t *a, int64_t blocks)
{
    ts_real y = 0;
    for (; blocks > 0; blocks--, w += 20, a += 36) {
        uint8_t code[TS_BLOCK];
        ts_block_nibbles(w + 4, code);
        ts_real d = (ts_real)ts_block_half(w) * (ts_real)ts_block_half(a);
        ts_real m = (ts_real)ts_block_half(w + 2) * (ts_real)ts_block_half(a + 2);
        y += ts_fma(d, (ts_real)ts_block_sum(code, 0, a + 4), m);
    }
    return y;
}

const ts_block_codec ts_q4_1 = {.format = TS_W_Q4_1, .decode = decode, .encode = encode, .dot = dot};
