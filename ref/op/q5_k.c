#include "block.h"

#include <string.h>

/* As Q4_K; the fifth bit of element i is bit i / 32 of byte i % 32 of its own array. */
static void codes(const uint8_t *b, uint8_t *code)
{
    for (int i = 0; i < TS_SUPER; i++) {
        int low = b[48 + i / 64 * 32 + i % 32] >> (i % 64 < 32 ? 0 : 4) & 15;
        code[i] = (uint8_t)(low | (b[16 + i % 32] >> i / 32 & 1) << 4);
    }
}

/* Q5_K, 256 values in 176 bytes: head as Q4_K's, 32 bytes of fifth bits, 128 bytes of low nibbles.
 * x = fl(fl(fl(d s) q) - fl(dmin m)). */
static void decode(const uint8_t *b, ts_real *x)
{
    uint8_t code[TS_SUPER];
    codes(b, code);
    ts_block_decode_ranges(b, code, x);
}

/* ts_block_encode_ranges with 31 levels, grids from 31 - 0.5 in 16 steps of 0.1. */
static void encode(const float *x, uint8_t *b)
{
    uint8_t code[TS_SUPER];
    ts_block_encode_ranges(x, 31, -0.5f, 15, b, code);
    memset(b + 16, 0, 32);
    for (int i = 0; i < TS_SUPER; i++)
        b[16 + i % 32] = (uint8_t)(b[16 + i % 32] | code[i] >> 4 << i / 32);
    for (int i = 0; i < TS_SUPER / 2; i++)
        b[48 + i] = (uint8_t)((code[i / 32 * 64 + i % 32] & 15) | (code[i / 32 * 64 + 32 + i % 32] & 15) << 4);
}

static ts_real dot(const uint8_t *w, const uint8_t *a, int64_t blocks)
{
    ts_block_lanes sums = {{0}, 0};
    for (; blocks > 0; blocks--, w += 176, a += 292) {
        uint8_t code[TS_SUPER];
        codes(w, code);
        ts_block_lanes_add(&sums, w, code, a);
    }
    return ts_block_lanes_total(&sums);
}

const ts_block_codec ts_q5_k = {.format = TS_W_Q5_K, .decode = decode, .encode = encode, .dot = dot};
