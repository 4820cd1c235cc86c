/* A weight matrix [N rows = outputs][K columns = inputs] as it lies in the file.
 *
 * MLX affine: code c of a row is bits [c*bits, (c+1)*bits) of the row's
 * little-endian stream; group j of a row has scale[n][j], bias[n][j];
 * w = scale*code + bias. Layout only: what it means in arithmetic is ref/op's
 * and fast's business. */
#ifndef TS_FORMAT_MATRIX_H
#define TS_FORMAT_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "num/dtype.h"

typedef enum {
    TS_W_BF16,
    TS_W_F16,
    TS_W_F32,
    TS_W_MLX,
    TS_W_Q4_0, /* from here on: ggml's blocks (format/block.h) */
    TS_W_Q4_1,
    TS_W_Q5_0,
    TS_W_Q5_1,
    TS_W_Q8_0,
    TS_W_Q8_1, /* of activations */
    TS_W_Q4_K,
    TS_W_Q5_K,
    TS_W_Q6_K,
    TS_W_Q8_K, /* of activations */
    TS_W_IQ4_NL,
    TS_W_IQ4_XS,
    TS_W_MXFP4,
} ts_weight_format;

typedef struct {
    ts_weight_format format;
    int64_t N, K;
    const void *data;            /* bf16/f16 patterns, f32, MLX u32 words [N][K*bits/32], or blocks [N][K/elements] */
    int bits, group;             /* MLX only */
    ts_dtype aux;                /* MLX: dtype of scales and biases, TS_BF16, TS_F16 or TS_F32 */
    const void *scales, *biases; /* MLX: [N][K/group] */
    /* The same weights once more, as some schedules want them (fast/schedule.h), or NULL. Not for the reference. */
    const void *packed;
    const struct ts_packing *packing; /* how */
} ts_matrix;

/* MLX groups of 64 and 4 or 8 bits: what class A64S8 is defined for. */
static inline bool ts_matrix_is_a64s8(const ts_matrix *w)
{
    return w->format == TS_W_MLX && w->group == 64 && (w->bits == 4 || w->bits == 8);
}

static inline bool ts_matrix_has_blocks(const ts_matrix *w)
{
    return w->format > TS_W_MLX;
}

/* Bytes of a row of `data`. */
int64_t ts_matrix_row_bytes(const ts_matrix *w);

/* Rows first .. first+n-1 alone, without a packed copy. */
static inline ts_matrix ts_matrix_rows(const ts_matrix *w, int64_t first, int64_t n)
{
    ts_matrix part = *w;
    int64_t groups = w->format == TS_W_MLX ? first * (w->K / w->group) * (w->aux == TS_F32 ? 4 : 2) : 0;
    part.N = n;
    part.data = (const char *)w->data + first * ts_matrix_row_bytes(w);
    part.scales = w->scales ? (const char *)w->scales + groups : NULL;
    part.biases = w->biases ? (const char *)w->biases + groups : NULL;
    part.packed = NULL;
    part.packing = NULL;
    return part;
}

/* Code k of row n (MLX, any bits 2..8). */
static inline uint32_t ts_mlx_code(const ts_matrix *m, int64_t n, int64_t k)
{
    const uint8_t *row = (const uint8_t *)m->data + n * (m->K * m->bits / 8);
    int64_t bit = k * m->bits;
    uint32_t two = row[bit / 8];
    if (bit % 8 + m->bits > 8)
        two |= (uint32_t)row[bit / 8 + 1] << 8;
    return two >> (bit % 8) & ((1u << m->bits) - 1);
}

#endif
