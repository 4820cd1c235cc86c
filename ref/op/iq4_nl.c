#include "block.h"

/* IQ4_NL, 32 values in 18 bytes: f16 d, 16 bytes of codes into a table of 16 values. x = d table[q]. */
static void decode(const uint8_t *b, ts_real *x)
{
    uint8_t code[TS_BLOCK];
    ts_real d = (ts_real)ts_block_half(b);
    ts_block_nibbles(b + 2, code);
    for (int j = 0; j < TS_BLOCK; j++)
        x[j] = d * ts_block_table[code[j]];
}

/* d by least squares for the codes nearest to x / (max / table[0]), which stay. A block without a value of 1e-15
 * has d = 0 and codes 0 (ggml leaves them as they were). */
static void encode(const float *x, uint8_t *b)
{
    uint8_t code[TS_BLOCK] = {0};
    ts_block_put_half(b, ts_block_fit_table(x, -1, code));
    ts_block_pack_nibbles(code, b + 2);
}

/* As files are made: the best of 16 grids, and the codes nearest to x / d. */
static void encode_file(const float *x, uint8_t *b)
{
    uint8_t code[TS_BLOCK] = {0};
    float d = ts_block_fit_table(x, 7, code), inverse = ts_block_inverse(d);
    for (int j = 0; j < TS_BLOCK; j++)
        code[j] = ts_block_table_index(inverse * x[j]);
    ts_block_put_half(b, d);
    ts_block_pack_nibbles(code, b + 2);
}

/* y = chain of fma(fl(d_a d_w), sum, y). */
static ts_real dot(const uint8_t *w, const uint8_t *a, int64_t blocks)
{
    ts_real y = 0;
    for (; blocks > 0; blocks--, w += 18, a += 34) {
        uint8_t code[TS_BLOCK];
        int32_t sum = 0;
        ts_block_nibbles(w + 2, code);
        for (int j = 0; j < TS_BLOCK; j++)
            sum += ts_block_table[code[j]] * (int8_t)a[2 + j];
        y = ts_fma((ts_real)ts_block_half(a) * (ts_real)ts_block_half(w), (ts_real)sum, y);
    }
    return y;
}

const ts_block_codec ts_iq4_nl = {
    .format = TS_W_IQ4_NL, .decode = decode, .encode = encode, .encode_file = encode_file, .dot = dot};
