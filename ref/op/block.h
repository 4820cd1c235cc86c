/* The ggml block formats: a row of weights or activations as a chain of blocks of 32 or 256 values with scales of
 * their own. One file per format, with its layout, what its codes mean, ggml's scalar rule that makes them, and the
 * integer product with blocks of activations in the order of ggml's generic C. Encoders are f32 in both precisions;
 * they want finite values. Source: ggml's block layouts and scalar quantisers (llama.cpp v0.5.0 made the goldens).
 */
#ifndef TS_OP_BLOCK_H
#define TS_OP_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "format/matrix.h"
#include "num/convert.h"
#include "num/real.h"

enum { TS_BLOCK = 32, TS_SUPER = 256, TS_NIBBLES = 16 };

typedef struct {
    ts_weight_format format;
    void (*decode)(const uint8_t *block, ts_real *x);                   /* one block */
    void (*encode)(const float *x, uint8_t *block);                     /* one block */
    void (*encode_file)(const float *x, uint8_t *block);                /* as files are made, where that differs */
    ts_real (*dot)(const uint8_t *w, const uint8_t *a, int64_t blocks); /* NULL: activations only */
} ts_block_codec;

/* NULL for plain numbers and MLX. */
const ts_block_codec *ts_block_codec_of(ts_weight_format format);

extern const ts_block_codec ts_q4_0, ts_q4_1, ts_q5_0, ts_q5_1, ts_q8_0, ts_q8_1, ts_q4_k, ts_q5_k, ts_q6_k,
    ts_q8_k, ts_iq4_nl, ts_iq4_xs, ts_mxfp4;

/* Q8_0 and Q8_1 as ggml's x86 code makes them at run time: 127/amax, not 1/(amax/127); ties to even, not away. */
void ts_q8_0_encode_x86(const float *x, uint8_t *block);
void ts_q8_1_encode_x86(const float *x, uint8_t *block);

static inline float ts_block_half(const uint8_t *p)
{
    return ts_f16_to_f32((uint16_t)(p[0] | p[1] << 8));
}

static inline void ts_block_put_half(uint8_t *p, float x)
{
    uint16_t h = ts_f32_to_f16(x);
    p[0] = (uint8_t)h;
    p[1] = (uint8_t)(h >> 8);
}

/* Towards zero; what is out of range or a NaN as x86 converts it, which C leaves open. */
static inline int32_t ts_block_trunc(float x)
{
    return x > -2147483904.0f && x < 2147483648.0f ? (int32_t)x : INT32_MIN;
}

/* Nearest, ties to even, and what is out of range or a NaN as x86 packs it to bytes. */
static inline int8_t ts_block_pack_x86(float x)
{
    int32_t q = ts_block_trunc(rintf(x));
    return (int8_t)(q < -128 ? -128 : q > 127 ? 127 : q);
}

/* Nearest, ties to even, for |x| <= 4194303; beyond that what the same sum leaves in the low bits. */
static inline int ts_block_nearest(float x)
{
    uint32_t bits = ts_bits(x + 12582912.0f);
    return (int)(bits & 0x007fffffu) - 0x00400000;
}

static inline int ts_block_clamp(int x, int lo, int hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* 1/d, 0 for 0. */
static inline float ts_block_inverse(float d)
{
    return d != 0 ? 1 / d : 0;
}

/* The first value of the largest magnitude, and that magnitude. */
static inline float ts_block_largest(const float *x, int n, float *amax)
{
    float max = 0;
    *amax = 0;
    for (int i = 0; i < n; i++)
        if (*amax < fabsf(x[i])) {
            *amax = fabsf(x[i]);
            max = x[i];
        }
    return max;
}

static inline void ts_block_range(const float *x, int n, float *min, float *max)
{
    *min = *max = x[0];
    for (int i = 1; i < n; i++) {
        *min = x[i] < *min ? x[i] : *min;
        *max = x[i] > *max ? x[i] : *max;
    }
}

/* Codes 0..15 of 32 values: byte j holds those of j (low) and j + 16 (high). */
static inline void ts_block_pack_nibbles(const uint8_t *code, uint8_t *q)
{
    for (int j = 0; j < TS_NIBBLES; j++)
        q[j] = (uint8_t)(code[j] | code[j + TS_NIBBLES] << 4);
}

static inline void ts_block_nibbles(const uint8_t *q, uint8_t *code)
{
    for (int j = 0; j < TS_NIBBLES; j++) {
        code[j] = q[j] & 15;
        code[j + TS_NIBBLES] = q[j] >> 4;
    }
}

/* Fifth bits: bit j of four bytes, least byte first, is bit 4 of code j. */
static inline void ts_block_pack_fifth(const uint8_t *code, uint8_t *high)
{
    for (int b = 0; b < 4; b++)
        high[b] = 0;
    for (int j = 0; j < TS_BLOCK; j++)
        high[j / 8] = (uint8_t)(high[j / 8] | (code[j] >> 4 & 1) << j % 8);
}

static inline void ts_block_fifth(const uint8_t *high, uint8_t *code)
{
    for (int j = 0; j < TS_BLOCK; j++)
        code[j] = (uint8_t)(code[j] | (high[j / 8] >> j % 8 & 1) << 4);
}

/* sum of (w - offset) a over 32 values, exact. */
static inline int32_t ts_block_sum(const uint8_t *w, int offset, const uint8_t *a)
{
    int32_t sum = 0;
    for (int j = 0; j < TS_BLOCK; j++)
        sum += (w[j] - offset) * (int8_t)a[j];
    return sum;
}

/* A K-quant's two 6-bit numbers of each of 8 sub-blocks in 12 bytes. */
void ts_block_scales(const uint8_t s[12], uint8_t scale[8], uint8_t min[8]);
void ts_block_pack_scales(const uint8_t scale[8], const uint8_t min[8], uint8_t s[12]);

/* Scale and minimum of 32 values for codes 0..levels: of steps + 1 grids, each laid from the best minimum so far,
 * the one with the least weighted square error. code gets that grid's codes. Returns the scale; *minimum = -min >=
 * 0. */
float ts_block_fit_range(const float *x, const float *weight, int levels, float first, int steps, uint8_t *code,
                         float *minimum);

/* The values of a super-block of Q4_K or Q5_K from its head and its 256 codes. */
void ts_block_decode_ranges(const uint8_t *head, const uint8_t *code, ts_real *x);

/* The super-block of Q4_K and Q5_K up to its codes: d, dmin and the packed scales, and the codes of all 256 values.
 */
void ts_block_encode_ranges(const float *x, int levels, float first, int steps, uint8_t *head, uint8_t *code);

/* The products of Q4_K and Q5_K: eight lanes of element mod 8, and the minima once per super-block. */
typedef struct {
    ts_real lane[8], rest;
} ts_block_lanes;
void ts_block_lanes_add(ts_block_lanes *sums, const uint8_t *head, const uint8_t *code, const uint8_t *a);
ts_real ts_block_lanes_total(const ts_block_lanes *sums);

/* A scale of IQ4_NL and IQ4_XS for 32 values: least squares over the table's values, weights x^2, of 2 tries + 1
 * grids (tries < 0: none but the first). code gets the first grid's codes. */
float ts_block_fit_table(const float *x, int tries, uint8_t *code);
/* The nearest of the table's values; of two equally near the upper. */
uint8_t ts_block_table_index(float x);
extern const int8_t ts_block_table[16];

#endif
