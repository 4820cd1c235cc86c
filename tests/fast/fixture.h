/* Arguments for any operation, and the memory under them: what tests of schedules run on. Include after cmocka. */
#ifndef TESTS_FAST_FIXTURE_H
#define TESTS_FAST_FIXTURE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "num/convert.h"
#include "num/generate.h"
#include "schedule.h"

typedef enum { W_BF16, W_F16, W_F32, W_MLX4, W_MLX8, W_MLX5 } weights;

typedef struct {
    ts_op_id op;
    int64_t dim[TS_MAX_OP_DIMS]; /* as in op->dim */
    weights w;
    ts_kv_dtype kv;
} shape;

/* Odd sizes, so that every block has a tail, and even ones, so that it has none. */
static const shape shapes[] = {
    {.op = TS_OP_EXP, .dim = {10007}},
    {.op = TS_OP_SIGMOID, .dim = {10007}},
    {.op = TS_OP_SILU, .dim = {10007}},
    {.op = TS_OP_SOFTPLUS, .dim = {10007}},
    {.op = TS_OP_RSQRT, .dim = {10007}},
    {.op = TS_OP_RESIDUAL_ADD, .dim = {10007}},
    {.op = TS_OP_SWIGLU, .dim = {10007}},
    {.op = TS_OP_SIGMOID_GATE, .dim = {10007}},
    {.op = TS_OP_EMBED, .dim = {7, 11, 64}, .w = W_BF16},
    {.op = TS_OP_EMBED, .dim = {7, 11, 64}, .w = W_F16},
    {.op = TS_OP_EMBED, .dim = {7, 11, 64}, .w = W_F32},
    {.op = TS_OP_EMBED, .dim = {7, 11, 192}, .w = W_MLX4},
    {.op = TS_OP_EMBED, .dim = {7, 11, 192}, .w = W_MLX8},
    {.op = TS_OP_EMBED, .dim = {7, 11, 192}, .w = W_MLX5},
    {.op = TS_OP_RMSNORM, .dim = {7, 77, 0}},
    {.op = TS_OP_RMSNORM, .dim = {7, 256, 1}},
    {.op = TS_OP_L2NORM, .dim = {5, 3, 40}},
    {.op = TS_OP_GATED_NORM, .dim = {5, 3, 24}},
    {.op = TS_OP_CONV1D, .dim = {9, 77, 4}},
    {.op = TS_OP_CONV1D, .dim = {2, 70, 4}},
    {.op = TS_OP_GDN_GATES, .dim = {9, 5}},
    {.op = TS_OP_GDN_STEP, .dim = {9, 2, 6, 16, 24, 0}},
    {.op = TS_OP_GDN_STEP, .dim = {5, 1, 3, 40, 72, 3}},
    {.op = TS_OP_GDN_CHUNK64, .dim = {150, 2, 6, 16, 24, 40}},
    {.op = TS_OP_GDN_CHUNK64, .dim = {65, 1, 3, 40, 72, 0}},
    {.op = TS_OP_ROPE, .dim = {9, 3, 20, 10}},
    {.op = TS_OP_KV_STORE, .dim = {19, 3, 20, 7}},
    {.op = TS_OP_KV_STORE, .dim = {19, 3, 20, 7}, .kv = TS_KV_BF16},
    {.op = TS_OP_KV_STORE, .dim = {19, 3, 20, 7}, .kv = TS_KV_F16},
    {.op = TS_OP_ATTENTION, .dim = {5, 6, 2, 72, 3, 0}},
    {.op = TS_OP_ATTENTION, .dim = {5, 6, 2, 64, 3, 0}, .kv = TS_KV_BF16},
    {.op = TS_OP_ATTENTION, .dim = {5, 6, 2, 64, 3, 0}, .kv = TS_KV_F16},
    {.op = TS_OP_ATTENTION, .dim = {5, 4, 4, 40, 4, 100}, .kv = TS_KV_BF16},
    {.op = TS_OP_ATTENTION, .dim = {5, 4, 4, 40, 4, 100}, .kv = TS_KV_F16},
    {.op = TS_OP_ATTENTION, .dim = {2, 2, 1, 4, 70, 0}},
    {.op = TS_OP_ATTENTION, .dim = {8, 6, 2, 64, 3, 0, 1}, .kv = TS_KV_BF16},
    {.op = TS_OP_ATTENTION, .dim = {8, 4, 4, 40, 3, 5, 1}},
    {.op = TS_OP_MATMUL_DOT32, .dim = {71, 9, 1100}, .w = W_BF16},
    {.op = TS_OP_MATMUL_DOT32, .dim = {7, 9, 100}, .w = W_F16},
    {.op = TS_OP_MATMUL_DOT32, .dim = {7, 9, 50}, .w = W_F32},
    {.op = TS_OP_MATMUL_DOT32, .dim = {7, 9, 640}, .w = W_MLX4},
    {.op = TS_OP_MATMUL_DOT32, .dim = {7, 9, 640}, .w = W_MLX5},
    {.op = TS_OP_MATMUL_DOT32, .dim = {7, 9, 640}, .w = W_MLX8},
    {.op = TS_OP_MATMUL_DOT32, .dim = {1, 9, 640}, .w = W_MLX8},
    {.op = TS_OP_MATMUL_DOT32, .dim = {1, 9, 1100}, .w = W_BF16},
    {.op = TS_OP_MATMUL_DOT32, .dim = {1, 7, 2048}, .w = W_MLX5},
    {.op = TS_OP_QUANTIZE_A64, .dim = {7, 192}},
    {.op = TS_OP_MATMUL_A64S8, .dim = {37, 9, 64}, .w = W_MLX4},
    {.op = TS_OP_MATMUL_A64S8, .dim = {7, 9, 320}, .w = W_MLX8},
    {.op = TS_OP_MATMUL_A64S8, .dim = {7, 9, 832}, .w = W_MLX4},
    {.op = TS_OP_MATMUL_A64S8, .dim = {1, 100, 832}, .w = W_MLX4},
    {.op = TS_OP_MATMUL_A64S8, .dim = {1, 33, 192}, .w = W_MLX8},
    {.op = TS_OP_MATMUL_A64S8, .dim = {109, 150, 576}, .w = W_MLX4},
    {.op = TS_OP_MATMUL_A64S8, .dim = {109, 150, 576}, .w = W_MLX8},
    {.op = TS_OP_MATMUL_A64S8, .dim = {1, 100, 832}, .w = W_MLX8},
    {.op = TS_OP_RMSNORM_A64, .dim = {7, 192, 1}},
    {.op = TS_OP_GATE_UP_A64S8, .dim = {7, 77, 320}, .w = W_MLX4},
    {.op = TS_OP_GATE_UP_A64S8, .dim = {33, 70, 64}, .w = W_MLX8},
    {.op = TS_OP_QKV_CONV_A64S8, .dim = {7, 77, 320, 4}, .w = W_MLX4},
    {.op = TS_OP_QKV_CONV_A64S8, .dim = {7, 70, 192, 4}, .w = W_MLX8},
    {.op = TS_OP_GROUPED_CONV, .dim = {8, 96, 2, 16, 8, 0}},
    {.op = TS_OP_GROUPED_CONV, .dim = {11, 63, 3, 21, 4, 1}},
    {.op = TS_OP_SELECTOR_SCORES, .dim = {5, 6, 100, 40}, .w = W_BF16},
    {.op = TS_OP_SELECTOR_SCORES, .dim = {5, 6, 50, 40}, .w = W_F16},
    {.op = TS_OP_SELECTOR_SCORES, .dim = {3, 16, 256, 40}, .w = W_F32},
    {.op = TS_OP_SELECTOR_SCORES, .dim = {3, 5, 256, 40}, .w = W_MLX8},
    {.op = TS_OP_TOP_SLOTS, .dim = {5, 1003, 16}},
    {.op = TS_OP_TOP_SLOTS, .dim = {5, 16, 16}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, PAGE = 16, MORE = 4 };

/* An operation's arguments and the memory under them. */
typedef struct {
    const ts_op *op;
    union {
        ts_attention_args largest;
        unsigned char byte[sizeof(ts_attention_args)];
    } args;
    ts_matrix matrix;
    void *field[TS_MAX_FIELDS]; /* owned; of a KV field the k pool */
    size_t size[TS_MAX_FIELDS];
    void *more[MORE]; /* scales, biases; v pool, page table */
    size_t v_size;
} fixture;

static void *allocate(size_t size)
{
    void *p = malloc(size ? size : 1);
    assert_non_null(p);
    return p;
}

static float *normal(int64_t n, uint32_t stream)
{
    float *y = allocate((size_t)n * sizeof *y);
    assert_int_equal(ts_generate("normal", 1, stream, y, n, NULL), TS_OK);
    return y;
}

/* n normal values as bf16 or f16 patterns. */
static uint16_t *narrow(int64_t n, uint32_t stream, uint16_t (*to)(float))
{
    float *x = normal(n, stream);
    uint16_t *y = allocate((size_t)n * sizeof *y);
    for (int64_t i = 0; i < n; i++)
        y[i] = to(x[i]);
    free(x);
    return y;
}

static void *make_matrix(fixture *f, weights w, int64_t N, int64_t K, uint32_t stream)
{
    static const int bits[] = {[W_MLX4] = 4, [W_MLX8] = 8, [W_MLX5] = 5};
    f->matrix = (ts_matrix){.format = w < W_MLX4 ? (ts_weight_format)w : TS_W_MLX, .N = N, .K = K};
    if (w == W_BF16 || w == W_F16)
        return narrow(N * K, stream, w == W_BF16 ? ts_f32_to_bf16 : ts_f32_to_f16);
    if (w == W_F32)
        return normal(N * K, stream);
    f->matrix.bits = bits[w];
    f->matrix.group = 64;
    f->matrix.aux = TS_BF16;
    f->matrix.scales = f->more[0] = narrow(N * K / 64, stream + 1, ts_f32_to_bf16);
    f->matrix.biases = f->more[1] = narrow(N * K / 64, stream + 2, ts_f32_to_bf16);
    int64_t words = N * K * bits[w] / 32;
    int32_t *code = allocate((size_t)words * sizeof *code);
    ts_generate_ints(1, stream, INT32_MIN, INT32_MAX, code, words);
    return code;
}

/* A pool of 128 tokens a partition and one page more, its pages in reverse order. */
static void *make_kv(fixture *f, ts_kv *kv, ts_kv_dtype dtype, int64_t tokens, int64_t width, size_t *size)
{
    int64_t pages = tokens / PAGE + 1, n = pages * PAGE * width;
    int32_t *table = allocate((size_t)pages * sizeof *table);
    for (int64_t i = 0; i < pages; i++)
        table[i] = (int32_t)(pages - 1 - i);
    uint16_t (*to)(float) = dtype == TS_KV_F16 ? ts_f32_to_f16 : ts_f32_to_bf16;
    void *k = dtype ? (void *)narrow(n, 20, to) : normal(n, 20);
    void *v = dtype ? (void *)narrow(n, 21, to) : normal(n, 21);
    *kv = (ts_kv){.dtype = dtype, .page = PAGE, .pages = pages, .table = table, .k = k, .v = v};
    *size = (size_t)n * (dtype ? sizeof(uint16_t) : sizeof(float));
    f->more[0] = v;
    f->more[1] = table;
    f->v_size = *size;
    return k;
}

/* Token ids below V (id, prev, cand); or pos and len of rows that end the sequence, pos two past the last key once.
 */
static int32_t *make_ints(const fixture *f, const char *name, int64_t n)
{
    int32_t *y = allocate((size_t)n * sizeof *y);
    if (strcmp(name, "pos") != 0 && strcmp(name, "len") != 0) {
        ts_generate_ints(1, 30, 0, (int32_t)ts_op_dim(f->op, &f->args, "V") - 1, y, n);
        return y;
    }
    int32_t keys = (int32_t)ts_op_dim(f->op, &f->args, "parts") * 128 - 9;
    for (int64_t t = 0; t < n; t++)
        y[t] = keys - (int32_t)(40 * t) + (name[0] == 'p' && t == 1 ? 2 : -1);
    return y;
}

/* Outputs start as garbage, other garbage in every fixture: what nobody writes is then a difference. */
static void *make_garbage(size_t size)
{
    static int garbage;
    return memset(allocate(size), garbage++ & 0xff, size);
}

static int8_t *make_codes(int64_t n)
{
    int8_t *y = allocate((size_t)n);
    for (int64_t k = 0; k < n; k++)
        y[k] = (int8_t)(k * 37 % 255 - 127);
    return y;
}

static void make_field(fixture *f, int i, const shape *s)
{
    const ts_field *d = &f->op->field[i];
    unsigned char *slot = f->args.byte + d->offset;
    int64_t n = ts_field_count(f->op, d, &f->args);
    if (d->kind == TS_FIELD_KV) {
        int64_t tokens = s->op == TS_OP_ATTENTION ? s->dim[4] * 128 : 64;
        f->field[i] = make_kv(f, (ts_kv *)(void *)slot, s->kv, tokens, n, &f->size[i]);
        return;
    }
    f->size[i] = (size_t)n * (d->kind == TS_FIELD_I8 ? 1 : sizeof(float));
    if (d->kind == TS_FIELD_MATRIX) {
        int64_t N = ts_op_dim(f->op, &f->args, d->dim[0]), K = ts_op_dim(f->op, &f->args, d->dim[1]);
        f->field[i] = f->matrix.data ? NULL : make_matrix(f, s->w, N, K, 10); /* a second one is the first */
        f->size[i] = 0;
    } else if (d->role == TS_OUT || d->role == TS_INNER) {
        f->field[i] = make_garbage(f->size[i]);
    } else if (d->kind == TS_FIELD_I32) {
        f->field[i] = make_ints(f, d->name, n);
    } else if (d->kind == TS_FIELD_I8) {
        f->field[i] = make_codes(n);
    } else {
        f->field[i] = normal(n, (uint32_t)i);
    }
    void *p = d->kind == TS_FIELD_MATRIX ? &f->matrix : f->field[i];
    if (d->kind == TS_FIELD_MATRIX && f->field[i])
        f->matrix.data = f->field[i];
    memcpy(slot, &p, sizeof p);
}

static fixture *make(const shape *s)
{
    fixture *f = allocate(sizeof *f);
    memset(f, 0, sizeof *f);
    f->op = &ts_op_table[s->op];
    for (int i = 0; f->op->dim[i].name; i++)
        memcpy(f->args.byte + f->op->dim[i].offset, &s->dim[i], sizeof s->dim[i]);
    static const double param[] = {1e-6, 0.125};
    for (int i = 0; i < TS_MAX_PARAMS && f->op->param[i].name; i++)
        memcpy(f->args.byte + f->op->param[i].offset, &param[i], sizeof param[i]);
    for (int i = 0; i < TS_MAX_FIELDS && f->op->field[i].name; i++)
        make_field(f, i, s);
    return f;
}

static void discard(fixture *f)
{
    for (int i = 0; i < TS_MAX_FIELDS; i++)
        free(f->field[i]);
    for (int i = 0; i < MORE; i++)
        free(f->more[i]);
    ts_matrix_unpack(&f->matrix);
    free(f);
}

/* Inner tensors that the schedule does not expose are NULL for it. */
static void hide(fixture *f, const ts_schedule *s)
{
    for (int i = 0; i < TS_MAX_FIELDS && f->op->field[i].name; i++) {
        if (f->op->field[i].role != TS_INNER || ts_schedule_exposes(s, f->op->field[i].name))
            continue;
        free(f->field[i]);
        f->field[i] = NULL;
        f->size[i] = 0;
        memcpy(f->args.byte + f->op->field[i].offset, &f->field[i], sizeof f->field[i]);
    }
}

/* Its matrix, if there is one, packed as the schedule wants it. */
static fixture *make_for(const ts_schedule *s, const shape *sh)
{
    ts_error err;
    fixture *f = make(sh);
    hide(f, s);
    if (f->matrix.data)
        assert_int_equal(ts_matrix_pack_as(&f->matrix, s->packing, 1, &err), TS_OK);
    return f;
}

#endif
