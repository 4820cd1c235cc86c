/* From the checkpoint's tensors to vectors and matrices: dtype and shape always,
 * data only where it is wanted, so that a big file's other pages stay untouched. */
#include "config/bind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "format/block.h"
#include "num/convert.h"

enum { NAME = 256, BLOCK = 4096 };

static ts_status take(ts_binder *b, const char *name, const ts_tensor **t, const char **file)
{
    *t = ts_checkpoint_find(b->ckpt, name, file);
    if (*t == NULL)
        return ts_fail(b->err, TS_BAD, b->path, name, "missing");
    b->used[b->n_used++] = *t;
    return TS_OK;
}

static ts_status check_shape(const ts_binder *b, const ts_tensor *t, const char *file, int ndim, const int64_t *dim)
{
    bool same = t->ndim == ndim;
    for (int i = 0; i < ndim && same; i++)
        same = t->dim[i] == dim[i];
    if (same)
        return TS_OK;
    char has[TS_SHAPE_TEXT], wants[TS_SHAPE_TEXT];
    ts_shape_text(t->ndim, t->dim, has, sizeof has);
    ts_shape_text(ndim, dim, wants, sizeof wants);
    return ts_fail(b->err, TS_BAD, file, t->name, "has shape %s, wants %s", has, wants);
}

/* Index of the first element whose exponent bits are all ones, or n. Whole blocks first: the
 * inner loop then has no exit and runs at memory speed. */
static int64_t first_bad16(const uint16_t *p, int64_t n, uint16_t exponent)
{
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t end = n - at < BLOCK ? n : at + BLOCK;
        int bad = 0;
        for (int64_t i = at; i < end; i++)
            bad |= (p[i] & exponent) == exponent;
        for (int64_t i = at; bad && i < end; i++)
            if ((p[i] & exponent) == exponent)
                return i;
    }
    return n;
}

static int64_t first_bad32(const uint32_t *p, int64_t n)
{
    const uint32_t exponent = 0x7F800000u;
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t end = n - at < BLOCK ? n : at + BLOCK;
        int bad = 0;
        for (int64_t i = at; i < end; i++)
            bad |= (p[i] & exponent) == exponent;
        for (int64_t i = at; bad && i < end; i++)
            if ((p[i] & exponent) == exponent)
                return i;
    }
    return n;
}

static ts_status check_dtype(const ts_binder *b, const ts_tensor *t, const char *file)
{
    const ts_ggml_type *type = ts_checkpoint_type(b->ckpt, t);
    if (t->dtype == TS_BF16 || t->dtype == TS_F16 || t->dtype == TS_F32)
        return TS_OK;
    if (type != NULL)
        return ts_fail(b->err, TS_BAD, file, t->name, "type %s; F32, F16 and BF16 are read here", type->name);
    return ts_fail(b->err, TS_BAD, file, t->name, "dtype %s; BF16, F16 and F32 are read%s",
                   ts_dtype_table[t->dtype].name,
                   t->dtype == TS_U32 ? " (MLX codes need a quantization in the config, and scales)" : "");
}

/* A BF16, F16 or F32 tensor, made readable, without NaN and infinity. */
static ts_status check_floats(const ts_binder *b, const ts_tensor *t, const char *file)
{
    if (!b->read)
        return TS_OK;
    ts_status status = ts_checkpoint_align(b->ckpt, t, b->err);
    if (status != TS_OK)
        return status;
    const int64_t n = ts_tensor_count(t);
    const uint16_t *half = t->data;
    const uint32_t *word = t->data;
    int64_t at;
    bool nan;
    if (t->dtype == TS_BF16) {
        at = first_bad16(half, n, 0x7F80);
        nan = at < n && (half[at] & 0x7F) != 0;
    } else if (t->dtype == TS_F16) {
        at = first_bad16(half, n, 0x7C00);
        nan = at < n && (half[at] & 0x3FF) != 0;
    } else {
        at = first_bad32(word, n);
        nan = at < n && (word[at] & 0x7FFFFF) != 0;
    }
    if (at == n)
        return TS_OK;
    return ts_fail(b->err, TS_BAD, file, t->name, "%s at element %lld", nan ? "NaN" : "Inf", (long long)at);
}

/* A float tensor of that shape. */
static ts_status take_floats(ts_binder *b, const char *name, int ndim, const int64_t *dim, const ts_tensor **t)
{
    const char *file;
    ts_status status = take(b, name, t, &file);
    if (status == TS_OK)
        status = check_dtype(b, *t, file);
    if (status == TS_OK)
        status = check_shape(b, *t, file, ndim, dim);
    return status == TS_OK ? check_floats(b, *t, file) : status;
}

ts_status ts_bind_vector(ts_binder *b, const char *name, int ndim, const int64_t *dim, ts_vector *out)
{
    const ts_tensor *t;
    ts_status status = take_floats(b, name, ndim, dim, &t);
    if (status != TS_OK || !b->read)
        return status;
    out->n = ts_tensor_count(t);
    out->v = malloc((size_t)out->n * sizeof *out->v);
    if (out->v == NULL)
        return ts_no_memory(b->err, (size_t)out->n * sizeof *out->v);
    const uint16_t *half = t->data;
    if (t->dtype == TS_F32)
        memcpy(out->v, t->data, t->size);
    for (int64_t i = 0; i < out->n && t->dtype == TS_BF16; i++)
        out->v[i] = ts_bf16_to_f32(half[i]);
    for (int64_t i = 0; i < out->n && t->dtype == TS_F16; i++)
        out->v[i] = ts_f16_to_f32(half[i]);
    return TS_OK;
}

/* What is bound: a matrix [N,K] (E = 0), or a stack of E of them as one matrix [E*N,K]. */
typedef struct {
    int64_t E, N, K;
} shape;

static int64_t rows(shape s)
{
    return s.E ? s.E * s.N : s.N;
}

/* Is the tensor's shape this one, the last dim being `last`? */
static ts_status check_stack(const ts_binder *b, const ts_tensor *t, const char *file, shape s, int64_t last)
{
    return check_shape(b, t, file, s.E ? 3 : 2, s.E ? (int64_t[]){s.E, s.N, last} : (int64_t[]){s.N, last});
}

/* A float tensor of that shape. */
static ts_status take_stack(ts_binder *b, const char *name, shape s, int64_t last, const ts_tensor **t)
{
    return take_floats(b, name, s.E ? 3 : 2, s.E ? (int64_t[]){s.E, s.N, last} : (int64_t[]){s.N, last}, t);
}

/* Rows of whole blocks, of a type that weights have. */
static ts_status check_blocks(const ts_binder *b, const ts_tensor *t, const char *file, const ts_ggml_type *type,
                              int64_t K, ts_weight_format *format)
{
    if (!ts_block_format(type->id, format) || K % type->elements != 0)
        return ts_fail(b->err, TS_BAD, file, t->name, "%lld columns of type %s cannot be read", (long long)K,
                       type->name);
    if (*format == TS_W_Q8_1 || *format == TS_W_Q8_K)
        return ts_fail(b->err, TS_BAD, file, t->name, "type %s is of activations, not of weights", type->name);
    return TS_OK;
}

/* ggml's blocks. */
static ts_status bind_blocks(ts_binder *b, const char *name, const ts_ggml_type *type, shape s, ts_matrix *out)
{
    const ts_tensor *t;
    const char *file;
    ts_weight_format format;
    ts_status status = take(b, name, &t, &file);
    if (status == TS_OK)
        status = check_stack(b, t, file, s, s.K);
    if (status == TS_OK)
        status = check_blocks(b, t, file, type, s.K, &format);
    if (status != TS_OK || !b->read)
        return status;
    status = ts_checkpoint_align(b->ckpt, t, b->err);
    if (status == TS_OK && !ts_block_scales_finite(format, t->data, rows(s) * (s.K / type->elements)))
        status = ts_fail(b->err, TS_BAD, file, t->name, "a scale is not a finite number");
    if (status == TS_OK)
        *out = (ts_matrix){.format = format, .N = rows(s), .K = s.K, .data = t->data};
    return status;
}

static ts_status bind_plain(ts_binder *b, const char *name, shape s, ts_matrix *out)
{
    const ts_tensor *t = ts_checkpoint_find(b->ckpt, name, NULL);
    const ts_ggml_type *type = t != NULL ? ts_checkpoint_type(b->ckpt, t) : NULL;
    if (type != NULL && type->dtype == TS_DTYPE_COUNT)
        return bind_blocks(b, name, type, s, out);
    /* GGUF has a matrix of one row as a vector. */
    const bool flat = type != NULL && s.E == 0 && s.N == 1 && t->ndim == 1;
    ts_status status = flat ? take_floats(b, name, 1, &s.K, &t) : take_stack(b, name, s, s.K, &t);
    if (status != TS_OK || !b->read)
        return status;
    ts_weight_format format = t->dtype == TS_BF16 ? TS_W_BF16 : t->dtype == TS_F16 ? TS_W_F16 : TS_W_F32;
    *out = (ts_matrix){.format = format, .N = rows(s), .K = s.K, .data = t->data};
    return TS_OK;
}

/* Scales and biases, one of each per group of a row, of one dtype. */
static ts_status take_aux(ts_binder *b, const char *module, shape of, int64_t groups, const ts_tensor **s,
                          const ts_tensor **z)
{
    char name[NAME + 8];
    const char *file;
    snprintf(name, sizeof name, "%s.scales", module);
    ts_status status = take_stack(b, name, of, groups, s);
    snprintf(name, sizeof name, "%s.biases", module);
    if (status == TS_OK)
        status = take_stack(b, name, of, groups, z);
    if (status != TS_OK || (*s)->dtype == (*z)->dtype)
        return status;
    ts_checkpoint_find(b->ckpt, name, &file);
    return ts_fail(b->err, TS_BAD, file, name, "dtype %s, the scales are %s", ts_dtype_table[(*z)->dtype].name,
                   ts_dtype_table[(*s)->dtype].name);
}

static ts_status take_codes(ts_binder *b, const char *name, shape s, int64_t words, const ts_tensor **t)
{
    const char *file;
    ts_status status = take(b, name, t, &file);
    if (status == TS_OK && (*t)->dtype != TS_U32)
        status = ts_fail(b->err, TS_BAD, file, name, "dtype %s; MLX codes are U32",
                         ts_dtype_table[(*t)->dtype].name);
    if (status == TS_OK)
        status = check_stack(b, *t, file, s, words);
    return status == TS_OK && b->read ? ts_checkpoint_align(b->ckpt, *t, b->err) : status;
}

static ts_status bind_mlx(ts_binder *b, const char *module, ts_quant_kind q, shape of, ts_matrix *out)
{
    char name[NAME + 8];
    const ts_tensor *t, *s, *z;
    snprintf(name, sizeof name, "%s.weight", module);
    if (of.K % q.group != 0)
        return ts_fail(b->err, TS_BAD, b->path, name, "%lld columns are not whole groups of %d", (long long)of.K,
                       q.group);
    ts_status status = take_codes(b, name, of, of.K * q.bits / 32, &t);
    if (status == TS_OK)
        status = take_aux(b, module, of, of.K / q.group, &s, &z);
    if (status != TS_OK || !b->read)
        return status;
    *out = (ts_matrix){.format = TS_W_MLX,
                       .N = rows(of),
                       .K = of.K,
                       .data = t->data,
                       .bits = q.bits,
                       .group = q.group,
                       .aux = s->dtype,
                       .scales = s->data,
                       .biases = z->data};
    return TS_OK;
}

/* As in MLX, the default holds for modules that have scales; an override must find them. */
static ts_status bind(ts_binder *b, const char *module, shape s, ts_matrix *out)
{
    char name[NAME + 8];
    const ts_quant_kind q = ts_quant_of(&b->quant, module);
    snprintf(name, sizeof name, "%s.scales", module);
    if (q.bits != 0 && (q.own || ts_checkpoint_find(b->ckpt, name, NULL) != NULL))
        return bind_mlx(b, module, q, s, out);
    snprintf(name, sizeof name, "%s.weight", module);
    /* Hugging Face's stacks of experts and DFlash2's codebooks have no suffix. */
    bool bare = ts_checkpoint_find(b->ckpt, name, NULL) == NULL &&
                ts_checkpoint_find(b->ckpt, module, NULL) != NULL;
    return bind_plain(b, bare ? module : name, s, out);
}

ts_status ts_bind_matrix(ts_binder *b, const char *module, int64_t N, int64_t K, ts_matrix *out)
{
    return bind(b, module, (shape){0, N, K}, out);
}

ts_status ts_bind_stack(ts_binder *b, const char *module, int64_t E, int64_t N, int64_t K, ts_matrix *out)
{
    return bind(b, module, (shape){E, N, K}, out);
}

ts_status ts_bind_leftover(const ts_binder *b, const char *prefix)
{
    for (size_t i = 0; i < ts_checkpoint_count(b->ckpt); i++) {
        const ts_tensor *t = ts_checkpoint_at(b->ckpt, i);
        bool used = strncmp(t->name, prefix, strlen(prefix)) != 0;
        for (size_t k = 0; k < b->n_used && !used; k++)
            used = b->used[k] == t;
        if (!used)
            return ts_fail(b->err, TS_BAD, b->path, t->name, "the drafter has no such tensor");
    }
    return TS_OK;
}
