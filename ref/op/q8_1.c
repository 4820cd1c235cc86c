#include "block.h"

/* Q8_1 (activations), 32 values in 36 bytes: f16 d, f16 s, 32 signed codes. x = q d. */
static void decode(const uint8_t *b, ts_real *x)
{
    ts_real d = (ts_real)ts_block_half(b);
    for (int j = 0; j < TS_BLOCK; j++)
        x[j] = (ts_real)(int8_t)b[4 + j] * d;
}

/* s = f16 of (sum of the codes) d, with the unrounded d. */
static void finish(float d, uint8_t *b)
{
    int sum = 0;
    for (int j = 0; j < TS_BLOCK; j++)
        sum += (int8_t)b[4 + j];
    ts_block_put_half(b, d);
    ts_block_put_half(b + 2, (float)sum * d);
}

/* Codes and d as Q8_0. */
static void encode(const float *x, uint8_t *b)
{
    float amax;
    ts_block_largest(x, TS_BLOCK, &amax);
    float d = amax / 127, inverse = ts_block_inverse(d);
    for (int j = 0; j < TS_BLOCK; j++)
        b[4 + j] = (uint8_t)ts_block_trunc(roundf(x[j] * inverse));
    finish(d, b);
}

/* Codes as Q8_0's x86 variant. */
void ts_q8_1_encode_x86(const float *x, uint8_t *b)
{
    float amax;
    ts_block_largest(x, TS_BLOCK, &amax);
    float inverse = amax != 0 ? 127 / amax : 0;
    for (int j = 0; j < TS_BLOCK; j++)
        b[4 + j] = (uint8_t)ts_block_pack_x86(x[j] * inverse);
    finish(amax / 127, b);
}

const ts_block_codec ts_q8_1 = {.format = TS_W_Q8_1, .decode = decode, .encode = encode};
