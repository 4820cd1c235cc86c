#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "neon/inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "num/convert.h"
#include "num/generate.h"

enum { PAGE = 16, TOKENS = 300 }; /* of a page of the KV pool; of the pool */

static _Noreturn void stop(const char *what)
{
    fprintf(stderr, "compare: %s\n", what);
    exit(2);
}

static void *allocate(inputs_array *a, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (size + page - 1) / page * page;
    a->size = size;
    a->mapped = room + page;
    a->map = mmap(NULL, a->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (a->map == MAP_FAILED || mprotect((char *)a->map + room, page, PROT_NONE) != 0)
        stop("out of memory");
    a->data = (char *)a->map + (room - size);
    return a->data;
}

static float *numbers(inputs_array *a, const inputs_shape *s, const char *values, uint32_t stream, int64_t n)
{
    ts_error err;
    float *y = allocate(a, (size_t)n * sizeof *y);
    if (ts_generate(values, s->draw, stream, y, n, &err) != TS_OK)
        stop(err.reason);
    return y;
}

/* The same as bf16 or f16 patterns. */
static void *narrow(inputs_array *a, const inputs_shape *s, uint32_t stream, int64_t n, uint16_t (*to)(float))
{
    inputs_array wide;
    const float *x = numbers(&wide, s, s->values, stream, n);
    uint16_t *y = allocate(a, (size_t)n * sizeof *y);
    for (int64_t i = 0; i < n; i++)
        y[i] = to(x[i]);
    munmap(wide.map, wide.mapped);
    return y;
}

static void *as(inputs_array *a, const inputs_shape *s, ts_dtype dtype, uint32_t stream, int64_t n)
{
    if (dtype == TS_F32)
        return numbers(a, s, s->values, stream, n);
    return narrow(a, s, stream, n, dtype == TS_F16 ? ts_f32_to_f16 : ts_f32_to_bf16);
}

static void make_matrix(inputs *in, inputs_array *a, const ts_field *f, const inputs_shape *s)
{
    static const ts_dtype plain[] = {[W_BF16] = TS_BF16, [W_F16] = TS_F16, [W_F32] = TS_F32};
    static const int bits[] = {[W_MLX4] = 4, [W_MLX8] = 8, [W_MLX5] = 5};
    ts_matrix *m = &in->matrix;
    *m = (ts_matrix){.format = s->w < W_MLX4 ? (ts_weight_format)s->w : TS_W_MLX,
                     .N = ts_op_dim(in->op, &in->args, f->dim[0]),
                     .K = ts_op_dim(in->op, &in->args, f->dim[1])};
    if (m->format != TS_W_MLX) {
        m->data = as(a, s, plain[s->w], 10, m->N * m->K);
        return;
    }
    m->bits = bits[s->w];
    m->group = 64;
    m->aux = s->aux;
    m->scales = as(&in->more[0], s, s->aux, 11, m->N * m->K / 64);
    m->biases = as(&in->more[1], s, s->aux, 12, m->N * m->K / 64);
    int64_t words = m->N * m->K * m->bits / 32;
    int32_t *code = allocate(a, (size_t)words * sizeof *code);
    ts_generate_ints(s->draw, 10, INT32_MIN, INT32_MAX, code, words);
    m->data = code;
}

/* A pool whose pages lie in reverse order. */
static void make_kv(inputs *in, inputs_array *a, ts_kv *kv, const inputs_shape *s, int64_t width)
{
    static const ts_dtype dtype[] = {TS_F32, TS_BF16, TS_F16};
    int64_t pages = TOKENS / PAGE + 1, n = pages * PAGE * width;
    int32_t *table = allocate(&in->more[3], (size_t)pages * sizeof *table);
    for (int64_t i = 0; i < pages; i++)
        table[i] = (int32_t)(pages - 1 - i);
    void *k = as(a, s, dtype[s->kv], 20, n);
    *kv = (ts_kv){.dtype = s->kv,
                  .page = PAGE,
                  .pages = pages,
                  .table = table,
                  .k = k,
                  .v = as(&in->more[2], s, dtype[s->kv], 21, n)};
}

/* Ids below V (id, prev, cand); or positions and lengths of rows at the end of the pool, one of them short. */
static void make_ints(const inputs *in, inputs_array *a, const char *name, int64_t n)
{
    int32_t *y = allocate(a, (size_t)n * sizeof *y);
    if (strcmp(name, "pos") != 0 && strcmp(name, "len") != 0)
        ts_generate_ints(1, 30, 0, (int32_t)ts_op_dim(in->op, &in->args, "V") - 1, y, n);
    else
        for (int64_t t = 0; t < n; t++)
            y[t] = t == 2 ? 5 : TOKENS - 40 + (int32_t)t;
}

static void make_field(inputs *in, int i, const inputs_shape *s)
{
    const ts_field *f = &in->op->field[i];
    inputs_array *a = &in->field[i];
    unsigned char *slot = in->args.byte + f->offset;
    int64_t n = ts_field_count(in->op, f, &in->args);
    if (f->kind == TS_FIELD_KV) {
        make_kv(in, a, (ts_kv *)(void *)slot, s, n);
        return;
    }
    if (f->kind == TS_FIELD_MATRIX && !in->matrix.data)
        make_matrix(in, a, f, s);
    else if (f->kind == TS_FIELD_I32)
        make_ints(in, a, f->name, n);
    else if (f->role == TS_OUT || f->role == TS_INNER)
        memset(allocate(a, (size_t)n * (f->kind == TS_FIELD_I8 ? 1 : sizeof(float))), 0xa5, a->size);
    else if (f->kind == TS_FIELD_I8)
        for (int8_t *y = allocate(a, (size_t)n), *end = y + n; y < end; y++)
            *y = (int8_t)((end - y) * 37 % 255 - 127);
    else if (f->kind == TS_FIELD_REAL)
        numbers(a, s, s->values, (uint32_t)i, n);
    void *p = f->kind == TS_FIELD_MATRIX ? &in->matrix : a->data;
    memcpy(slot, &p, sizeof p);
}

void inputs_make(inputs *in, const inputs_shape *s)
{
    static const double param[TS_MAX_PARAMS] = {1e-6, 0.125};
    memset(in, 0, sizeof *in);
    in->op = &ts_op_table[s->op];
    for (int i = 0; i < TS_MAX_OP_DIMS && in->op->dim[i].name; i++)
        memcpy(in->args.byte + in->op->dim[i].offset, &s->dim[i], sizeof s->dim[i]);
    for (int i = 0; i < TS_MAX_PARAMS && in->op->param[i].name; i++)
        memcpy(in->args.byte + in->op->param[i].offset, &param[i], sizeof param[i]);
    for (int i = 0; i < TS_MAX_FIELDS && in->op->field[i].name; i++)
        make_field(in, i, s);
}

void inputs_free(inputs *in)
{
    for (int i = 0; i < TS_MAX_FIELDS; i++)
        if (in->field[i].map)
            munmap(in->field[i].map, in->field[i].mapped);
    for (int i = 0; i < INPUTS_MORE; i++)
        if (in->more[i].map)
            munmap(in->more[i].map, in->more[i].mapped);
}

const inputs_array *inputs_output(const inputs *in, int i, int *width)
{
    for (int j = 0; j < TS_MAX_FIELDS && in->op->field[j].name; j++) {
        const ts_field *f = &in->op->field[j];
        bool kv = f->kind == TS_FIELD_KV;
        if (f->role != TS_OUT && f->role != TS_INOUT)
            continue;
        const ts_kv *pool = (const ts_kv *)(const void *)(in->args.byte + f->offset);
        *width = f->kind == TS_FIELD_I8 ? 1 : kv && pool->dtype != TS_KV_REAL ? 2 : 4;
        if (i-- == 0)
            return &in->field[j];
        if (kv && i-- == 0)
            return &in->more[2];
    }
    return NULL;
}
