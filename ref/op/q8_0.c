#include "block.h"

/* Q8_0, 32 values in 34 bytes: f16 d, 32 signed codes. x = q d. */
static void decode(const uint8_t *b, ts_real *x)
{
    ts_real d = (ts_real)ts_block_half(b);
    for (int j = 0; j < TS_BLOCK; j++)
        x[j] = (ts_real)(int8_t)b[2 + j] * d;
}

/* d = max |x| / 127; q = round(x (1/d)), ties away from zero, 1/d of the unrounded d. */
static void encode(const float *x, uint8_t *b)
{
    float amax;
    ts_block_largest(x, TS_BLOCK, &amax);
    float d = amax / 127, inverse = ts_block_inverse(d);
    ts_block_put_half(b, d);
    for (int j = 0; j < TS_BLOCK; j++)
        b[2 + j] = (uint8_t)ts_block_trunc(roundf(x[j] * inverse));
}

/* As encode with q = rint(x fl(127 / max |x|)), ties to even. */
void ts_q8_0_encode_x86(const float *x, uint8_t *b)
{
    float amax;
    ts_block_largest(x, TS_BLOCK, &amax);
    float inverse = amax != 0 ? 127 / amax : 0;
    ts_block_put_half(b, amax / 127);
    for (int j = 0; j < TS_BLOCK; j++)
        b[2 + j] = (uint8_t)ts_block_pack_x86(x[j] * inverse);
}

/* y = chain of fma(sum, fl(d_w d_a), y). */
static ts_real dot(const uint8_t *w, const uint8_t *a, int64_t blocks)
{
    ts_real y = 0;
    for (; blocks > 0; blocks--, w += 34, a += 34) {
        int32_t sum = 0;
        for (int j = 0; j < TS_BLOCK; j++)
            sum += (int8_t)w[2 + j] * (int8_t)a[2 + j];
        y = ts_fma((ts_real)sum, (ts_real)ts_block_half(w) * (ts_real)ts_block_half(a), y);
    }
    return y;
}

const ts_block_codec ts_q8_0 = {.format = TS_W_Q8_0, .decode = decode, .encode = encode, .dot = dot};
