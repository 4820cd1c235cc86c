#include "op_build.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num/rope_table.h"

void *ts_op_member(const ts_op_call *c, size_t offset)
{
    return (char *)c->args + offset;
}

static int dim_index(const ts_op *op, const char *name)
{
    for (int i = 0; i < TS_MAX_OP_DIMS && op->dim[i].name; i++)
        if (strcmp(op->dim[i].name, name) == 0)
            return i;
    return -1;
}

int ts_op_field_index(const ts_op *op, const char *name)
{
    for (int i = 0; i < TS_MAX_FIELDS && op->field[i].name; i++)
        if (strcmp(op->field[i].name, name) == 0)
            return i;
    return -1;
}

/* A dim from the model or from a tensor's shape: all that say it must agree. */
ts_status ts_op_settle(ts_op_builder *b, const char *name, int64_t value, const char *tensor)
{
    int i = dim_index(b->c->op, name);
    int64_t *dim = ts_op_member(b->c, b->c->op->dim[i].offset);
    if (b->known[i] && *dim != value)
        return ts_fail(b->err, TS_BAD, b->s->in->path, tensor, "%s is %lld here, but %lld in %s", name,
                       (long long)value, (long long)*dim,
                       b->s->w ? "the model or another tensor" : "another tensor");
    *dim = value;
    b->known[i] = true;
    return TS_OK;
}

static int rank(const ts_field *f)
{
    int n = 0;
    while (n < 4 && f->dim[n])
        n++;
    return n;
}

/* How many dims at the end of t multiply to a width that is known already: heads x channels of a linear's input. */
static int folded_tail(const ts_op_builder *b, const ts_field *f, int n, const ts_tensor *t)
{
    int i = dim_index(b->c->op, f->dim[n - 1]), tail = 1;
    if (t->ndim <= n || i < 0 || !b->known[i])
        return 1;
    int64_t width = t->dim[t->ndim - 1], wants = *(const int64_t *)ts_op_member(b->c, b->c->op->dim[i].offset);
    while (tail <= t->ndim - n && width > 0 && width < wants && t->dim[t->ndim - tail - 1] <= wants)
        width *= t->dim[t->ndim - ++tail];
    return width == wants ? tail : 1;
}

/* A tensor's dims; those beyond the field's rank are multiplied into its first, or into a last one that is known.
 */
static ts_status settle_shape(ts_op_builder *b, const ts_field *f, const ts_tensor *t)
{
    int n = rank(f), at = 0;
    ts_status status = TS_OK;
    if (t->ndim < n && !(n == 1 && t->ndim == 0))
        return ts_fail(b->err, TS_BAD, b->s->in->path, t->name, "%d dims, wants %d", t->ndim, n);
    int tail = folded_tail(b, f, n, t), extra = t->ndim - n - (tail - 1);
    for (int i = 0; i < n && !status; i++) {
        int64_t d = 1;
        int end = t->ndim == 0 ? 0 : i == n - 1 ? t->ndim : at + 1 + (i == 0 ? extra : 0);
        for (; at < end; at++)
            d = t->dim[at] > 0 && d > INT64_MAX / t->dim[at] ? INT64_MAX : d * t->dim[at];
        if (dim_index(b->c->op, f->dim[i]) >= 0) /* "K/64" is looked at when K is known */
            status = ts_op_settle(b, f->dim[i], d, t->name);
    }
    return status;
}

/* The field that quantising x made, or -1: the file may not hold it as well. */
static int made_by(const ts_op_call *codes, const ts_field *f)
{
    return codes ? ts_op_field_index(codes->op, f->name) : -1;
}

static ts_status settle_given(ts_op_builder *b, const ts_op_call *codes)
{
    const ts_op *op = b->c->op;
    ts_status status = TS_OK;
    for (int i = 0; i < TS_MAX_FIELDS && op->field[i].name && !status; i++) {
        const ts_field *f = &op->field[i];
        if (f->kind == TS_FIELD_MATRIX || f->kind == TS_FIELD_KV || f->role > TS_INOUT)
            continue;
        bool elsewhere = b->c->data[i] || made_by(codes, f) >= 0;
        const ts_tensor *t = elsewhere ? NULL : ts_inputs_find(b->s->in, f->name);
        b->c->given[i] = t;
        if (t)
            status = settle_shape(b, f, t);
    }
    return status;
}

static ts_status settle_scalar(ts_op_builder *b, const char *name)
{
    int64_t value = 0;
    const ts_tensor *t = ts_inputs_find(b->s->in, name);
    if (!t)
        return TS_OK;
    if (ts_tensor_count(t) != 1)
        return ts_fail(b->err, TS_BAD, b->s->in->path, name, "must be one integer");
    ts_status status = ts_inputs_int(b->s->in, t, 0, TS_MOST_TOKENS, &value, b->err);
    return status ? status : ts_op_settle(b, name, value, name);
}

/* Dims that no shape has: one integer in the file, or 0. */
static ts_status settle_scalars(ts_op_builder *b)
{
    const ts_op *op = b->c->op;
    ts_status status = TS_OK;
    for (int i = 0; i < TS_MAX_OP_DIMS && op->dim[i].name && !status; i++)
        if (!b->known[i])
            status = settle_scalar(b, op->dim[i].name);
    return status;
}

ts_status ts_op_allocate(ts_op_builder *b, int i, int64_t n, size_t size)
{
    if (n > INT64_MAX / 16 || (uint64_t)n > SIZE_MAX / size / 2)
        return ts_fail(b->err, TS_BAD, b->s->in->path, b->c->op->field[i].name, "too many elements");
    b->c->data[i] = calloc((size_t)n + 1, size);
    return b->c->data[i] ? TS_OK : ts_no_memory(b->err, (size_t)n * size);
}

size_t ts_op_real_size(const ts_op_builder *b)
{
    return b->c->wide ? sizeof(double) : sizeof(float);
}

/* Integers of field i, by way of int64. */
static ts_status take_ints(ts_op_builder *b, int i, int64_t n)
{
    const ts_field *f = &b->c->op->field[i];
    bool narrow = f->kind == TS_FIELD_I8;
    int64_t hi = narrow ? 127 : b->s->id == TS_OP_EMBED ? b->s->w->cfg.V - 1 : TS_MOST_TOKENS;
    int64_t *v = malloc(((size_t)n + 1) * sizeof *v);
    ts_status status = v ? ts_inputs_int(b->s->in, b->c->given[i], narrow ? -127 : 0, hi, v, b->err)
                         : ts_no_memory(b->err, (size_t)n * sizeof *v);
    for (int64_t k = 0; k < n && !status; k++)
        if (narrow)
            ((int8_t *)b->c->data[i])[k] = (int8_t)v[k];
        else
            ((int32_t *)b->c->data[i])[k] = (int32_t)v[k];
    free(v);
    return status;
}

/* cos and sin of rows pos .. pos+T-1 of the model's tables. */
static ts_status take_angles(ts_op_builder *b)
{
    const ts_rope_args *a = b->c->args;
    double *inv_freq = malloc((size_t)a->R * sizeof *inv_freq);
    int64_t pos = 0, half = a->R / 2;
    const ts_tensor *t = ts_inputs_find(b->s->in, "pos");
    if (!inv_freq)
        return ts_no_memory(b->err, (size_t)a->R * sizeof *inv_freq);
    ts_status status = TS_OK;
    if (t && ts_tensor_count(t) != 1)
        status = ts_fail(b->err, TS_BAD, b->s->in->path, "pos", "must be one integer");
    else if (t)
        status = ts_inputs_int(b->s->in, t, 0, TS_MOST_TOKENS - a->T, &pos, b->err);
    ts_rope_inv_freq(b->s->w->cfg.theta, a->R, inv_freq);
    void *c = b->c->data[ts_op_field_index(b->c->op, "cos")], *s = b->c->data[ts_op_field_index(b->c->op, "sin")];
    for (int64_t r = 0; r < a->T && !status; r++)
        if (b->c->wide)
            ts_rope_row_f64(inv_freq, a->R, pos + r, (double *)c + r * half, (double *)s + r * half);
        else
            ts_rope_row_f32(inv_freq, a->R, pos + r, (float *)c + r * half, (float *)s + r * half);
    free(inv_freq);
    return status;
}

static bool attends(const ts_op_builder *b)
{
    return ts_op_field_index(b->c->op, "pos") >= 0; /* a position a row */
}

/* Inputs that the file may leave out: states start at zero, attention ends with the cache, angles are the model's.
 */
static bool optional(const ts_op_builder *b, const ts_field *f)
{
    return f->role == TS_INOUT || (attends(b) && f->kind == TS_FIELD_I32) ||
           (b->s->id == TS_OP_ROPE && strcmp(f->name, "x") != 0);
}

static ts_status fill_field(ts_op_builder *b, int i, const ts_op_call *codes)
{
    const ts_field *f = &b->c->op->field[i];
    const ts_tensor *t = b->c->given[i];
    size_t size = f->kind == TS_FIELD_I8 ? 1 : f->kind == TS_FIELD_I32 ? sizeof(int32_t) : ts_op_real_size(b);
    int64_t n = ts_field_count(b->c->op, f, b->c->args);
    ts_status status = t ? ts_op_check_shape(b->c, f, t, b->s->in->path, b->err) : TS_OK;
    if (!status && !b->c->data[i])
        status = ts_op_allocate(b, i, n, size);
    if (status || f->role == TS_OUT)
        return status;
    int made = made_by(codes, f);
    if (made >= 0) {
        memcpy(b->c->data[i], codes->data[made], (size_t)n * size);
        return TS_OK;
    }
    if (!t)
        return TS_OK;
    return f->kind == TS_FIELD_REAL ? ts_inputs_real(b->s->in, t, b->as, b->c->data[i], b->err)
                                    : take_ints(b, i, n);
}

static ts_status check_present(ts_op_builder *b, const ts_op_call *codes)
{
    const ts_op *op = b->c->op;
    for (int i = 0; i < TS_MAX_FIELDS && op->field[i].name; i++) {
        const ts_field *f = &op->field[i];
        bool elsewhere = f->kind == TS_FIELD_MATRIX || f->kind == TS_FIELD_KV || b->c->data[i] ||
                         made_by(codes, f) >= 0;
        if (f->role <= TS_INOUT && !elsewhere && !b->c->given[i] && !optional(b, f))
            return ts_fail(b->err, TS_BAD, b->s->in->path, f->name, "missing: %s needs it", op->name);
    }
    return TS_OK;
}

static ts_status check_dims(ts_op_builder *b)
{
    const char *rule;
    if (ts_op_dims_ok(b->c->op, b->c->args, &rule))
        return TS_OK;
    return ts_fail(b->err, TS_BAD, b->s->in->path, NULL, "the shapes do not make sense for %s: %s", b->c->op->name,
                   rule);
}

static void attach(ts_op_call *c)
{
    for (int i = 0; i < TS_MAX_FIELDS && c->op->field[i].name; i++) {
        const ts_field *f = &c->op->field[i];
        if (f->kind != TS_FIELD_MATRIX && f->kind != TS_FIELD_KV)
            memcpy(ts_op_member(c, f->offset), &c->data[i], sizeof c->data[i]);
    }
}

/* R of rope, which no shape has: twice the width of the angles. */
static ts_status settle_angles(ts_op_builder *b)
{
    static const char *const name[] = {"cos", "sin"};
    ts_status status = TS_OK;
    for (int i = 0; i < 2 && !status && b->s->id == TS_OP_ROPE; i++) {
        const ts_tensor *t = b->c->given[ts_op_field_index(b->c->op, name[i])];
        int64_t width = t && t->ndim ? t->dim[t->ndim - 1] : 0;
        if (t && width > TS_MOST_TOKENS)
            status = ts_fail(b->err, TS_BAD, b->s->in->path, name[i], "wants at most 2^24 angles a row");
        else if (t)
            status = ts_op_settle(b, "R", 2 * width, name[i]);
    }
    return status;
}

/* All dims. */
static ts_status settle_all(ts_op_builder *b, const ts_op_call *codes)
{
    ts_status status = ts_op_from_model(b);
    if (!status && b->s->K > 0)
        status = ts_op_settle(b, "K", b->s->K, "x");
    if (!status)
        status = settle_given(b, codes);
    if (!status)
        status = settle_angles(b);
    if (!status && codes)
        status = ts_op_settle(b, "T", ts_op_dim(codes->op, codes->args, "T"), "x");
    if (!status && codes)
        status = ts_op_settle(b, "K", ts_op_dim(codes->op, codes->args, "K"), "x");
    if (!status)
        status = check_present(b, codes);
    if (!status)
        status = settle_scalars(b);
    if (!status)
        status = ts_op_kv_settle(b);
    return status ? status : check_dims(b);
}

static void scale_by_head(ts_op_builder *b)
{
    if (b->s->id == TS_OP_L2NORM) {
        ts_l2norm_args *a = b->c->args;
        a->scale = pow((double)a->D, a->scale);
    } else if (attends(b)) {
        ts_attention_args *a = b->c->args;
        a->scale = pow((double)a->D, -0.5);
    }
}

static ts_status fill_all(ts_op_builder *b, const ts_op_call *codes)
{
    const ts_op *op = b->c->op;
    ts_status status = TS_OK;
    for (int i = 0; i < TS_MAX_FIELDS && op->field[i].name && !status; i++) {
        const ts_field *f = &op->field[i];
        if (f->kind != TS_FIELD_MATRIX && f->kind != TS_FIELD_KV && f->role != TS_INNER)
            status = fill_field(b, i, codes);
    }
    bool angles = b->s->id == TS_OP_ROPE && !b->c->given[ts_op_field_index(op, "cos")];
    if (!status && angles != (b->s->id == TS_OP_ROPE && !b->c->given[ts_op_field_index(op, "sin")]))
        return ts_fail(b->err, TS_BAD, b->s->in->path, angles ? "cos" : "sin",
                       "missing: cos and sin come together");
    if (!status && angles)
        status = take_angles(b);
    if (!status)
        status = ts_op_kv_fill(b);
    return status;
}

ts_status ts_op_call_new(const ts_op_source *s, ts_real_as as, const ts_op_call *codes, ts_op_call *out,
                         ts_error *err)
{
    ts_op_builder b = {.s = s, .as = as, .c = out, .err = err};
    *out = (ts_op_call){.op = &ts_op_table[s->id], .wide = as != TS_AS_F32};
    out->args = calloc(1, out->op->args_size);
    if (!out->args)
        return ts_no_memory(err, out->op->args_size);
    ts_status status = settle_all(&b, codes);
    if (!status) {
        scale_by_head(&b);
        status = fill_all(&b, codes);
    }
    if (status)
        ts_op_call_free(out);
    else
        attach(out);
    return status;
}

void ts_op_call_free(ts_op_call *c)
{
    for (int i = 0; i < TS_MAX_FIELDS; i++)
        free(c->data[i]);
    free(c->table);
    free(c->args);
    *c = (ts_op_call){0};
}
