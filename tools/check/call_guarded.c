/* A call whose memory notices, and what its outputs held before a run and hold after it. */
#include <stdlib.h>
#include <string.h>

#include "check/call_parts.h"
#include "num/convert.h"

static const uint32_t fill_real[TS_FILLS] = {0xffc0deadu, 0x7fedbeefu};
static const unsigned char fill_byte[TS_FILLS] = {0xaa, 0x55};

void ts_call_fill(ts_call *c, int i)
{
    const ts_field *f = &c->op->field[i];
    size_t n = c->size[i] / ts_call_element_size(c, f);
    memset(c->data[i], fill_byte[c->fill], c->size[i]);
    for (size_t j = 0; f->kind == TS_FIELD_REAL && j < n; j++)
        if (c->wide)
            ((double *)c->data[i])[j] = (double)ts_float(fill_real[c->fill]);
        else
            ((uint32_t *)c->data[i])[j] = fill_real[c->fill];
}

static size_t matrix_bytes(const ts_matrix *m, int part)
{
    if (part == 0)
        return (size_t)(m->N * ts_matrix_row_bytes(m));
    return m->format == TS_W_MLX ? (size_t)(m->N * (m->K / m->group)) * (m->aux == TS_F32 ? 4 : 2) : 0;
}

static ts_status guard_copy(ts_guard *g, const void *from, size_t size, const void **to, ts_error *err)
{
    if (!from)
        return TS_OK;
    if (!ts_guard_new(g, size))
        return ts_no_memory(err, size);
    memcpy(g->data, from, size);
    *to = g->data;
    return ts_guard_read_only(g) ? TS_OK : ts_no_memory(err, size);
}

/* The arrays of the matrices, and then the structs that point at these. */
static ts_status guard_matrices(ts_call *c, ts_error *err)
{
    const void *structs;
    ts_status s = TS_OK;
    for (int i = 0; !s && i < TS_MATRICES && c->matrix[i].N > 0; i++) {
        ts_matrix *m = &c->matrix[i];
        ts_guard *g = c->guard + TS_GUARD_MATRIX + i * TS_MATRIX_PARTS;
        m->packed = NULL;
        m->packing = NULL;
        s = guard_copy(&g[0], m->data, matrix_bytes(m, 0), &m->data, err);
        if (!s)
            s = guard_copy(&g[1], m->scales, matrix_bytes(m, 1), &m->scales, err);
        if (!s)
            s = guard_copy(&g[2], m->biases, matrix_bytes(m, 2), &m->biases, err);
    }
    return s ? s : guard_copy(&c->guard[TS_GUARD_STRUCTS], c->matrix, sizeof c->matrix, &structs, err);
}

/* An array that is only read. The two KV pools get a guard each, so that the end of the first is one too. */
static ts_status guard_input(const ts_call *from, ts_call *c, int i, ts_error *err)
{
    const ts_field *f = &c->op->field[i];
    size_t size = from->size[i], half = f->kind == TS_FIELD_KV ? size / 2 : size;
    const void *first, *second;
    ts_status s = guard_copy(&c->guard[i], from->data[i], half, &first, err);
    if (!s && half < size)
        s = guard_copy(&c->guard[TS_GUARD_V], (char *)from->data[i] + half, half, &second, err);
    c->v_pool = c->guard[TS_GUARD_V].data;
    c->data[i] = c->guard[i].data;
    c->size[i] = size;
    return s;
}

static ts_status guard_table(const ts_call *from, ts_call *c, int i, ts_error *err)
{
    const ts_kv *kv = ts_call_member(c, c->op->field[i].offset);
    const void *table;
    ts_status s = guard_copy(&c->guard[TS_GUARD_TABLE], from->table, (size_t)kv->pages * sizeof *c->table, &table,
                             err);
    c->table = (int32_t *)c->guard[TS_GUARD_TABLE].data;
    return s;
}

static ts_status guard_field(const ts_call *from, ts_call *c, int i, ts_error *err)
{
    const ts_field *f = &c->op->field[i];
    ts_status s = TS_OK;
    if (f->kind == TS_FIELD_KV)
        s = guard_table(from, c, i, err);
    if (!s && f->kind != TS_FIELD_MATRIX)
        s = f->role == TS_IN ? guard_input(from, c, i, err) : ts_call_allocate(c, i, err);
    if (!s)
        ts_call_attach(c, i);
    return s;
}

ts_status ts_call_guarded(const ts_call *from, const char *exposes, ts_call *out, ts_error *err)
{
    size_t size = from->op->args_size;
    memset(out, 0, sizeof *out);
    out->op = from->op;
    out->guarded = true;
    memcpy(out->matrix, from->matrix, sizeof out->matrix);
    ts_status s = guard_matrices(out, err);
    if (!s && ts_guard_new(&out->guard[TS_GUARD_ARGS], (size + 15) / 16 * 16)) /* for doubles and pointers */
        out->args = memcpy(out->guard[TS_GUARD_ARGS].data, from->args, size);
    else if (!s)
        s = ts_no_memory(err, size);
    for (int i = 0; !s && i < TS_MAX_FIELDS && out->op->field[i].name; i++)
        s = guard_field(from, out, i, err);
    if (!s)
        ts_call_expose(out, exposes);
    if (!s && !ts_guard_read_only(&out->guard[TS_GUARD_ARGS]))
        s = ts_no_memory(err, size);
    if (s)
        ts_call_free(out);
    return s;
}

ts_status ts_call_outputs(const ts_call *from, const char *exposes, int fill, ts_call *out, ts_error *err)
{
    memset(out, 0, sizeof *out);
    out->op = from->op;
    out->fill = fill;
    out->args = malloc(from->op->args_size);
    if (!out->args)
        return ts_no_memory(err, from->op->args_size);
    memcpy(out->args, from->args, from->op->args_size);
    ts_status s = TS_OK;
    for (int i = 0; !s && i < TS_MAX_FIELDS && out->op->field[i].name; i++) {
        if (out->op->field[i].role == TS_IN)
            continue;
        s = ts_call_allocate(out, i, err);
        if (!s && out->op->field[i].role == TS_INOUT)
            memcpy(out->data[i], from->data[i], from->size[i]);
        if (!s)
            ts_call_attach(out, i);
    }
    if (s)
        ts_call_free(out);
    else
        ts_call_expose(out, exposes);
    return s;
}

bool ts_call_is_output(const ts_call *c, int i)
{
    return c->op->field[i].role != TS_IN && ts_call_has(c, i);
}

void ts_call_take(ts_call *to, const ts_call *from)
{
    for (int i = 0; i < TS_MAX_FIELDS && to->op->field[i].name; i++)
        if (ts_call_is_output(to, i))
            memcpy(to->data[i], from->data[i], from->size[i]);
}

/* The element of `from` goes to `to` if it is not as before; false if that of `to` was not either. */
static bool merge_element(char *to, const char *from, const char *before, size_t size)
{
    if (memcmp(from, before, size) == 0)
        return true;
    bool first = memcmp(to, before, size) == 0;
    memcpy(to, from, size);
    return first;
}

int ts_call_merge(ts_call *to, const ts_call *from, const ts_call *before, int64_t *element)
{
    int field = -1;
    for (int i = 0; i < TS_MAX_FIELDS && to->op->field[i].name; i++) {
        size_t size = ts_call_element_size(to, &to->op->field[i]);
        for (size_t at = 0; ts_call_is_output(to, i) && at < to->size[i]; at += size) {
            const char *old = (char *)before->data[i] + at;
            if (merge_element((char *)to->data[i] + at, (char *)from->data[i] + at, old, size) || field >= 0)
                continue;
            field = i;
            *element = (int64_t)(at / size);
        }
    }
    return field;
}

static bool holds_fill(const ts_call *c, int i, size_t size, int64_t element)
{
    const unsigned char *p = (const unsigned char *)c->data[i] + (size_t)element * size;
    if (c->op->field[i].kind == TS_FIELD_REAL)
        return memcmp(p, &fill_real[c->fill], sizeof fill_real[0]) == 0;
    bool all = true;
    for (size_t j = 0; j < size; j++)
        all &= p[j] == fill_byte[c->fill];
    return all;
}

int64_t ts_call_unwritten(const ts_call *a, const ts_call *b, int i, int64_t *first)
{
    size_t size = ts_call_element_size(a, &a->op->field[i]);
    int64_t n = 0;
    *first = -1;
    for (int64_t e = 0; a->op->field[i].role >= TS_OUT && e < (int64_t)(a->size[i] / size); e++)
        if (holds_fill(a, i, size, e) && holds_fill(b, i, size, e)) {
            *first = n == 0 ? e : *first;
            n++;
        }
    return n;
}
