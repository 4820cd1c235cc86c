#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op_build.h"

static bool same_dims(const ts_field *a, const ts_field *b)
{
    for (int i = 0; i < 4; i++)
        if (!a->dim[i] != !b->dim[i] || (a->dim[i] && strcmp(a->dim[i], b->dim[i]) != 0))
            return false;
    return true;
}

/* The first input of the same dims that the user gave, or NULL. */
static const ts_tensor *peer_of(const ts_op_call *c, const ts_field *f)
{
    for (int i = 0; i < TS_MAX_FIELDS && c->op->field[i].name; i++)
        if (c->given[i] && same_dims(&c->op->field[i], f))
            return c->given[i];
    return NULL;
}

/* The shape of its peer, or the field's own. */
static void shape_output(const ts_op_call *c, const ts_field *f, ts_tensor *t)
{
    const ts_tensor *peer = peer_of(c, f);
    if (peer) {
        t->ndim = peer->ndim;
        memcpy(t->dim, peer->dim, sizeof t->dim);
        return;
    }
    for (; t->ndim < 4 && f->dim[t->ndim]; t->ndim++)
        t->dim[t->ndim] = ts_op_dim(c->op, c->args, f->dim[t->ndim]);
}

ts_status ts_op_call_output(const ts_op_call *c, int field, ts_tensor out[2], int *n, ts_error *err)
{
    const ts_field *f = &c->op->field[field];
    *n = 0;
    if (f->role == TS_IN || f->role == TS_INNER)
        return TS_OK;
    if (f->kind == TS_FIELD_KV)
        return ts_op_kv_output(c, out, n, err);
    ts_tensor t = {.name = f->name, .data = c->data[field]};
    t.dtype = f->kind == TS_FIELD_I8 ? TS_I8 : f->kind == TS_FIELD_I32 ? TS_I32 : c->wide ? TS_F64 : TS_F32;
    shape_output(c, f, &t);
    t.size = (size_t)ts_tensor_count(&t) * (size_t)ts_dtype_table[t.dtype].bits / 8;
    void *copy = malloc(t.size + 1);
    if (!copy)
        return ts_no_memory(err, t.size);
    t.data = memcpy(copy, t.data, t.size);
    out[(*n)++] = t;
    return TS_OK;
}

static int shape_of(const ts_op_call *c, const ts_field *f, int64_t dim[4])
{
    int n = 0;
    if (f->kind == TS_FIELD_KV) {
        const int64_t pool[] = {ts_op_dim(c->op, c->args, "Hkv"), c->tokens, ts_op_dim(c->op, c->args, "D")};
        memcpy(dim, pool, sizeof pool);
        return 3;
    }
    for (; n < 4 && f->dim[n]; n++)
        dim[n] = ts_op_dim(c->op, c->args, f->dim[n]);
    return n;
}

/* Can has[m] be cut into n groups whose products are dim[n]? Rows in front and a split last dim can. */
static bool fits(int m, const int64_t *has, int n, const int64_t *dim)
{
    int64_t product = 1;
    if (n == 0)
        return m == 0;
    for (int k = 0; k < m && has[k] <= dim[0] && product <= dim[0]; k++) {
        product *= has[k];
        if (product == dim[0] && fits(m - k - 1, has + k + 1, n - 1, dim + 1))
            return true;
    }
    return false;
}

static int without_ones(const ts_tensor *t, int64_t dim[TS_MAX_DIMS])
{
    int n = 0;
    for (int i = 0; i < t->ndim; i++)
        if (t->dim[i] != 1)
            dim[n++] = t->dim[i];
    return n;
}

/* Where the operation has fewer dims than the user: is one shape the other with dims split? */
static bool agree(const ts_tensor *a, const ts_tensor *b)
{
    int64_t x[TS_MAX_DIMS], y[TS_MAX_DIMS];
    int m = without_ones(a, x), n = without_ones(b, y);
    return fits(m, x, n, y) || fits(n, y, m, x);
}

ts_status ts_op_check_shape(const ts_op_call *c, const ts_field *f, const ts_tensor *t, const char *path,
                            ts_error *err)
{
    int64_t dim[4];
    char has[TS_SHAPE_TEXT], wants[TS_SHAPE_TEXT];
    int n = shape_of(c, f, dim);
    const ts_tensor *peer = f->kind == TS_FIELD_KV ? NULL : peer_of(c, f);
    bool fit = fits(t->ndim, t->dim, n, dim) || (t->ndim == 0 && n == 1 && dim[0] == 1);
    if (fit && (!peer || agree(peer, t)))
        return TS_OK;
    ts_shape_text(t->ndim, t->dim, has, sizeof has);
    if (fit) {
        ts_shape_text(peer->ndim, peer->dim, wants, sizeof wants);
        return ts_fail(err, TS_BAD, path, t->name, "has shape %s, but %s has %s", has, peer->name, wants);
    }
    ts_shape_text(n, dim, wants, sizeof wants);
    return ts_fail(err, TS_BAD, path, t->name, "has shape %s, wants %s", has, wants);
}

ts_status ts_op_call_expected(const ts_op_call *c, ts_inputs *in, ts_error *err)
{
    ts_status status = TS_OK;
    for (int i = 0; i < TS_MAX_FIELDS && c->op->field[i].name && !status; i++) {
        const ts_field *f = &c->op->field[i];
        bool pools = f->kind == TS_FIELD_KV;
        if (f->role == TS_IN || f->role == TS_INNER)
            continue;
        for (int k = 0; k < (pools ? 2 : 1) && !status; k++) {
            char name[64];
            const char *stem = pools ? ts_op_pool_name[k] : f->name;
            const ts_tensor *t = ts_inputs_find(in,
                                                ts_op_expected_name(stem, f->role == TS_INOUT, name, sizeof name));
            if (t)
                status = ts_op_check_shape(c, f, t, in->path, err);
        }
    }
    return status;
}

const char *ts_op_expected_name(const char *output, bool state, char *buf, size_t size)
{
    snprintf(buf, size, state ? "%s_out" : "%s", output);
    return buf;
}
