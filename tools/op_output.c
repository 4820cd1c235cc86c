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

/* The shape in which the user gave an input of the same dims, or the field's own. */
static void shape_output(const ts_op_call *c, const ts_field *f, ts_tensor *t)
{
    for (int i = 0; i < TS_MAX_FIELDS && c->op->field[i].name; i++)
        if (c->given[i] && same_dims(&c->op->field[i], f)) {
            t->ndim = c->given[i]->ndim;
            memcpy(t->dim, c->given[i]->dim, sizeof t->dim);
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
    t.dtype = f->kind == TS_FIELD_I8 ? TS_I8 : c->wide ? TS_F64 : TS_F32;
    shape_output(c, f, &t);
    t.size = (size_t)ts_tensor_count(&t) * (size_t)ts_dtype_table[t.dtype].bits / 8;
    void *copy = malloc(t.size + 1);
    if (!copy)
        return ts_no_memory(err, t.size);
    t.data = memcpy(copy, t.data, t.size);
    out[(*n)++] = t;
    return TS_OK;
}
