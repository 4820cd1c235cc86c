/* Arguments for any operation without a library: what the comparison across architectures runs on. Every array ends
 * at a page that cannot be read. */
#ifndef TESTS_NEON_INPUTS_H
#define TESTS_NEON_INPUTS_H

#include "case/op.h"

typedef enum { W_BF16, W_F16, W_F32, W_MLX4, W_MLX8, W_MLX5 } inputs_weights;

typedef struct {
    ts_op_id op;
    int64_t dim[TS_MAX_OP_DIMS]; /* as in op->dim */
    inputs_weights w;
    ts_dtype aux;       /* MLX: of scales and biases */
    int64_t kv;         /* ts_kv_dtype */
    uint32_t draw;      /* seed */
    const char *values; /* a generator of num/generate.h, for every field of numbers */
} inputs_shape;

enum { INPUTS_MORE = 5 };

typedef struct {
    void *data, *map;
    size_t size, mapped;
} inputs_array;

typedef struct {
    const ts_op *op;
    union {
        ts_attention_args largest;
        ts_qkv_conv_a64s8_args fused;
        unsigned char byte[sizeof(ts_attention_args)];
    } args;
    ts_matrix matrix;
    inputs_array field[TS_MAX_FIELDS],
        more[INPUTS_MORE]; /* of a KV field the k pool; more: scales, biases, v, table */
} inputs;

/* Ends the program with a message where memory is short or a generator does not exist. */
void inputs_make(inputs *in, const inputs_shape *s);
void inputs_free(inputs *in);

/* Array i of what the operation writes, NULL past the last; *width: bytes of an element, 4 for f32. */
const inputs_array *inputs_output(const inputs *in, int i, int *width);

#endif
