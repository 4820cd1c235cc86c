#include "block.h"

/* Groups of 64: low nibbles are the first 32, high ones the next. */
static void codes(const uint8_t *b, uint8_t *code)
{
    for (int i = 0; i < TS_SUPER; i++)
        code[i] = b[16 + i / 64 * 32 + i % 32] >> (i % 64 < 32 ? 0 : 4) & 15;
}

/* Q4_K, 256 values in 144 bytes: f16 d, f16 dmin, 12 bytes of 6-bit scales s and minima m of 8 sub-blocks, 128
 * bytes of codes. x = fl(fl(fl(d s) q) - fl(dmin m)). */
static void decode(const uint8_t *b, ts_real *x)
{
    uint8_t code[TS_SUPER];
    codes(b, code);
    ts_block_decode_ranges(b, code, x);
}

/* ts_block_encode_ranges with 15 levels, grids from 15 - 1 in 21 steps of 0.1. */
static void encode(const float *x, uint8_t *b)
{
    uint8_t code[TS_SUPER];
    ts_block_encode_ranges(x, 15, -1, 20, b, code);
    for (int i = 0; i < TS_SUPER / 2; i++)
        b[16 + i] = (uint8_t)(code[i / 32 * 64 + i % 32] | code[i / 32 * 64 + 32 + i % 32] << 4);
}

static ts_real dot(const uint8_t *w, const uint8_t *a, int64_t blocks)
{
    ts_block_lanes sums = {{0}, 0};
    for (; blocks > 0; blocks--, w += 144, a += 292) {
        uint8_t code[TS_SUPER];
        codes(w, code);
        ts_block_lanes_add(&sums, w, code, a);
    }
    return ts_block_lanes_total(&sums);
}

const ts_block_codec ts_q4_k = {.format = TS_W_Q4_K, .decode = decode, .encode = encode, .dot = dot};
