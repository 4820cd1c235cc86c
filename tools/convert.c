/* From Hugging Face's layout to llama.cpp's: config/names.h says what happens to each tensor. */
#include "convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert_parts.h"

typedef struct {
    const char *from;
    const ts_weights *w;
    const ts_ggml_type *type; /* of matrices, but for those that stay f32 */
    ts_gguf_out out;
    ts_convert_item *item;
    size_t n;
    float *row; /* of the widest */
    unsigned char *packed;
    ts_error *err;
} job;

/* Expert after expert. */
static ts_status write_matrix(const job *q, const ts_convert_item *i, ts_out *file)
{
    const size_t bytes = i->size / (size_t)(i->E * i->N);
    ts_status status = TS_OK;
    for (int64_t n = 0; n < i->E * i->N && !status; n++) {
        ts_convert_row(q->w, i, n, q->row);
        if (!ts_convert_pack(i->type, q->row, i->K, q->packed))
            return ts_fail(q->err, TS_BAD, q->from, i->full, "row %lld holds a number too large for %s",
                           (long long)n, i->type->name);
        status = ts_out_write(file, q->packed, bytes, q->err);
    }
    return status;
}

static ts_status write_vector(const job *q, const ts_convert_item *i, ts_out *file)
{
    const int64_t n = (int64_t)(i->size / sizeof(float));
    float *y = malloc(i->size);
    if (!y)
        return ts_no_memory(q->err, i->size);
    for (int64_t j = 0; j < n; j++)
        y[j] = ts_convert_value(q->w, i, j, n);
    ts_status status = ts_out_write(file, y, i->size, q->err);
    free(y);
    return status;
}

static size_t put_matrix(job *q, const ts_convert_item *i)
{
    if (i->name->change == TS_CHANGE_FLAT)
        return ts_gguf_put_tensor(&q->out, i->full, 1, &i->K, i->type);
    const int64_t dim[3] = {i->E, i->N, i->K};
    return ts_gguf_put_tensor(&q->out, i->full, i->stack ? 3 : 2, i->stack ? dim : dim + 1, i->type);
}

/* [CD,W] of a convolution, [1,P,1,W] of one of Kimi's three, [1,1,H,1] of its A_log; else [n]. */
static size_t put_vector(job *q, const ts_convert_item *i)
{
    const ts_config *c = &q->w->cfg;
    const ts_name_change change = i->name->change;
    const int64_t W = c->W, n = i->v->n;
    const ts_ggml_type *f32 = ts_ggml_type_find("F32");
    if (change == TS_CHANGE_SQUEEZE)
        return ts_gguf_put_tensor(&q->out, i->full, 2, (int64_t[]){n / W, W}, f32);
    if (change == TS_CHANGE_FOUR)
        return ts_gguf_put_tensor(&q->out, i->full, 4, (int64_t[]){1, n / 3 / W, 1, W}, f32);
    if (change == TS_CHANGE_RATE && c->family == TS_FAMILY_KIMI)
        return ts_gguf_put_tensor(&q->out, i->full, 4, (int64_t[]){1, 1, n, 1}, f32);
    return ts_gguf_put_tensor(&q->out, i->full, 1, &n, f32);
}

/* Every matrix of a stack: a file may have some of its experts quantised. */
static bool is_plain(const ts_convert_item *i)
{
    for (int64_t e = 0; e < (i->stack && i->from == TS_FROM_WHOLE ? i->E : 1); e++)
        if (i->m[e].format != TS_W_BF16 && i->m[e].format != TS_W_F16 && i->m[e].format != TS_W_F32)
            return false;
    return true;
}

static ts_status add_item(job *q, const ts_name *n, int64_t layer)
{
    ts_convert_item *i = &q->item[q->n];
    *i = ts_convert_find(q->w, n, layer, q->type);
    if (!i->m && !i->v)
        return TS_OK;
    if (i->m && !is_plain(i))
        return ts_fail(q->err, TS_BAD, q->from, i->full, "is quantised already");
    if (i->m && i->K % i->type->elements != 0)
        return ts_fail(q->err, TS_BAD, q->from, i->full, "rows of %lld are not whole blocks of %d (%s)",
                       (long long)i->K, i->type->elements, i->type->name);
    i->size = i->m ? put_matrix(q, i) : put_vector(q, i);
    q->n++;
    return TS_OK;
}

/* Of the model's names, the i-th of the table if it is one of that place. */
static const ts_name *name_at(const job *q, size_t i, ts_name_place place)
{
    const ts_name *n = ts_name_at(i);
    return n->place == place && (n->of & (int)ts_names_of(&q->w->cfg)) ? n : NULL;
}

static ts_status add_items(job *q)
{
    ts_status status = TS_OK;
    for (int64_t layer = -1; layer < q->w->cfg.layers; layer++)
        for (size_t i = 0; ts_name_at(i) && !status; i++) {
            const ts_name *n = name_at(q, i, layer < 0 ? TS_NAME_END : TS_NAME_LAYER);
            if (n)
                status = add_item(q, n, layer);
        }
    return status;
}

/* qwen35moe and qwen3next have no word for what is refused here. */
static ts_status check_qwen(const job *q)
{
    const ts_config *c = &q->w->cfg;
    for (int64_t i = 0; c->moe.E > 0 && i < c->layers; i++)
        if (!c->moe.layer[i])
            return ts_fail(q->err, TS_BAD, q->from, NULL, "layer %lld is dense: %s has experts in all",
                           (long long)i, ts_convert_architecture(c));
    if (c->moe.E > 0 && !c->moe.renorm)
        return ts_fail(q->err, TS_BAD, q->from, "norm_topk_prob", "false has no key in %s",
                       ts_convert_architecture(c));
    if (c->Dk != c->Dv)
        return ts_fail(q->err, TS_BAD, q->from, "linear_value_head_dim",
                       "differs from linear_key_head_dim: GGUF has one number for both");
    return TS_OK;
}

static ts_status check_kimi(const job *q)
{
    const ts_config *c = &q->w->cfg;
    bool sparse = false;
    for (int64_t i = 0; i < c->layers; i++) {
        if (sparse && !c->moe.layer[i])
            return ts_fail(q->err, TS_BAD, q->from, NULL,
                           "layer %lld is dense behind a sparse one: kimi-linear has the dense ones first",
                           (long long)i);
        sparse = c->moe.layer[i];
    }
    if (!c->moe.renorm)
        return ts_fail(q->err, TS_BAD, q->from, "moe_renormalize", "false has no key in kimi-linear");
    if (c->lower_bound < 0)
        return ts_fail(q->err, TS_BAD, q->from, "gate_lower_bound", "has no key in kimi-linear");
    if (c->Hk != c->Hq)
        return ts_fail(q->err, TS_BAD, q->from, "num_attention_heads",
                       "differs from linear attention's: GGUF has one number for both");
    return TS_OK;
}

static ts_status check_model(const job *q)
{
    if (q->w->rate)
        return ts_fail(q->err, TS_BAD, q->from, NULL, "is a GGUF file already");
    return q->w->cfg.family == TS_FAMILY_KIMI ? check_kimi(q) : check_qwen(q);
}

static ts_status allocate(job *q)
{
    const ts_config *c = &q->w->cfg;
    int64_t widest = c->C;
    size_t names = 0;
    const int64_t K[] = {c->I, c->Hq * c->D, c->Hv * c->Dv, c->moe.I, c->moe.shared, c->rank, c->Hq * c->Dm};
    for (size_t i = 0; i < sizeof K / sizeof *K; i++)
        widest = K[i] > widest ? K[i] : widest;
    while (ts_name_at(names))
        names++;
    const size_t items = (size_t)(c->layers + 1) * names;
    q->item = calloc(items, sizeof *q->item);
    q->row = malloc((size_t)widest * sizeof *q->row);
    q->packed = malloc((size_t)widest * sizeof *q->row);
    return q->item && q->row && q->packed ? TS_OK : ts_no_memory(q->err, items * sizeof *q->item);
}

static ts_status write_file(const job *q, const char *to)
{
    ts_out file;
    ts_status status = ts_out_open(&file, to, q->err);
    if (status)
        return status;
    status = ts_gguf_out_begin(&q->out, &file, q->err);
    for (size_t i = 0; i < q->n && !status; i++) {
        status = q->item[i].m ? write_matrix(q, &q->item[i], &file) : write_vector(q, &q->item[i], &file);
        if (!status)
            status = ts_gguf_out_pad(&file, q->item[i].size, q->err);
    }
    return ts_out_close(&file, status, q->err);
}

static ts_status convert(job *q, const char *to)
{
    ts_status status = check_model(q);
    if (!status)
        status = allocate(q);
    if (!status)
        status = ts_convert_keys(q->w, q->from, q->type, &q->out, q->err);
    if (!status)
        status = add_items(q);
    return status ? status : write_file(q, to);
}

ts_status ts_convert_gguf(const char *from, const char *to, const char *type, ts_convert_result *result,
                          ts_error *err)
{
    ts_weights *w = NULL;
    job q = {.from = from, .type = ts_convert_type(type), .err = err};
    if (!q.type)
        return ts_fail(err, TS_USAGE, NULL, "--type", "'%s' is none of " TS_CONVERT_TYPES, type);
    ts_status status = ts_weights_load(from, &w, err);
    q.w = w;
    if (!status)
        status = convert(&q, to);
    *result = (ts_convert_result){.tensors = q.n, .bytes = q.out.offset};
    ts_gguf_out_free(&q.out);
    free(q.item);
    free(q.row);
    free(q.packed);
    ts_weights_free(w);
    return status;
}
