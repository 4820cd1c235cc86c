#include <stdlib.h>
#include <string.h>

#include "num/convert.h"
#include "op_build.h"

enum { PAGE = 16, PARTITION = 128 };

static ts_kv *pool_of(const ts_op_call *c)
{
    int i = ts_op_field_index(c->op, "kv");
    return i < 0 ? NULL : ts_op_member(c, c->op->field[i].offset);
}

/* attention's k and v are the cache; kv_store's are the new rows, and the cache may be absent. */
static const char *cache_name(const ts_op_builder *b, int which)
{
    static const char *const name[2][2] = {{"k", "v"}, {"cache_k", "cache_v"}};
    return name[b->s->id == TS_OP_KV_STORE][which];
}

/* *tokens: what the caches hold, 0 without them. */
static ts_status settle_caches(ts_op_builder *b, int64_t *tokens)
{
    const char *path = b->s->in->path;
    const ts_tensor *t[2];
    ts_status status = TS_OK;
    for (int i = 0; i < 2; i++)
        t[i] = ts_inputs_find(b->s->in, cache_name(b, i));
    *tokens = 0;
    if (!t[0] && !t[1] && b->s->id == TS_OP_KV_STORE)
        return TS_OK;
    for (int i = 0; i < 2 && !status; i++) {
        if (!t[i])
            return ts_fail(b->err, TS_BAD, path, cache_name(b, i), "missing: %s needs it", b->c->op->name);
        if (t[i]->ndim != 3 || t[i]->dim[1] > TS_MOST_TOKENS)
            return ts_fail(b->err, TS_BAD, path, t[i]->name,
                           "wants 3 dims, heads, tokens (at most 2^24), channels");
        status = ts_op_settle(b, "Hkv", t[i]->dim[0], t[i]->name);
        if (!status)
            status = ts_op_settle(b, "D", t[i]->dim[2], t[i]->name);
    }
    if (!status && t[0]->dim[1] != t[1]->dim[1])
        return ts_fail(b->err, TS_BAD, path, t[1]->name, "%lld tokens, %s has %lld", (long long)t[1]->dim[1],
                       t[0]->name, (long long)t[0]->dim[1]);
    *tokens = t[0]->dim[1];
    return status;
}

ts_status ts_op_kv_settle(ts_op_builder *b)
{
    ts_kv *kv = pool_of(b->c);
    if (!kv)
        return TS_OK;
    ts_status status = settle_caches(b, &b->c->tokens);
    if (status)
        return status;
    if (b->s->id == TS_OP_KV_STORE) {
        status = ts_op_settle(b, "pos", b->c->tokens, "pos");
        b->c->tokens += ts_op_dim(b->c->op, b->c->args, "T");
    } else {
        status = ts_op_settle(b, "parts", (b->c->tokens + PARTITION - 1) / PARTITION, "k");
    }
    kv->dtype = b->s->profile->kv;
    kv->page = PAGE;
    kv->pages = (b->c->tokens + PAGE - 1) / PAGE;
    return status;
}

static int64_t slot_of(const ts_kv *kv, int64_t Hkv, int64_t D, int64_t h, int64_t j)
{
    return ((kv->table[j / kv->page] * Hkv + h) * kv->page + j % kv->page) * D;
}

static void store(const ts_kv *kv, void *pool, int64_t to, bool wide, const void *x, int64_t from)
{
    double d = wide ? ((const double *)x)[from] : 0;
    float f = wide ? 0 : ((const float *)x)[from];
    if (kv->dtype == TS_KV_BF16)
        ((uint16_t *)pool)[to] = wide ? ts_f64_to_bf16(d) : ts_f32_to_bf16(f);
    else if (kv->dtype == TS_KV_F16)
        ((uint16_t *)pool)[to] = wide ? ts_f64_to_f16(d) : ts_f32_to_f16(f);
    else if (wide)
        ((double *)pool)[to] = d;
    else
        ((float *)pool)[to] = f;
}

static ts_status fill_pool(ts_op_builder *b, const ts_kv *kv, const char *name, void *pool)
{
    const ts_tensor *t = ts_inputs_find(b->s->in, name);
    if (!t)
        return TS_OK;
    int64_t Hkv = t->dim[0], len = t->dim[1], D = t->dim[2], n = ts_tensor_count(t);
    void *x = calloc((size_t)n + 1, sizeof(double));
    ts_status status = x ? ts_inputs_real(b->s->in, t, b->as, x, b->err)
                         : ts_no_memory(b->err, (size_t)n * sizeof(double));
    for (int64_t i = 0; i < n && !status; i++)
        store(kv, pool, slot_of(kv, Hkv, D, i / D / len, i / D % len) + i % D, b->c->wide, x, i);
    free(x);
    return status;
}

/* Rows sit at the end of the cache and see all up to themselves, unless the file says otherwise. */
static ts_status fill_rows(ts_op_builder *b)
{
    const ts_attention_args *a = b->c->args;
    int p = ts_op_field_index(b->c->op, "pos"), l = ts_op_field_index(b->c->op, "len");
    int32_t *pos = b->c->data[p], *len = b->c->data[l];
    for (int64_t t = 0; t < a->T; t++) {
        if (!b->c->given[p] && b->c->tokens - a->T + t < 0)
            return ts_fail(b->err, TS_BAD, b->s->in->path, "q", "%lld rows, but k and v hold %lld tokens",
                           (long long)a->T, (long long)b->c->tokens);
        if (!b->c->given[p])
            pos[t] = (int32_t)(b->c->tokens - a->T + t);
        if (!b->c->given[l])
            len[t] = pos[t] + 1;
        if (len[t] > b->c->tokens)
            return ts_fail(b->err, TS_BAD, b->s->in->path, "len", "row %lld sees %d keys, k and v hold %lld",
                           (long long)t, (int)len[t], (long long)b->c->tokens);
    }
    return TS_OK;
}

ts_status ts_op_kv_fill(ts_op_builder *b)
{
    ts_kv *kv = pool_of(b->c);
    if (!kv)
        return TS_OK;
    size_t size = kv->dtype == TS_KV_REAL ? ts_op_real_size(b) : sizeof(uint16_t);
    int i = ts_op_field_index(b->c->op, "kv");
    int64_t row = ts_op_dim(b->c->op, b->c->args, "Hkv") * ts_op_dim(b->c->op, b->c->args, "D");
    int64_t slots = kv->pages * PAGE;
    if (row > INT64_MAX / 2 / slots)
        return ts_fail(b->err, TS_BAD, b->s->in->path, cache_name(b, 0), "the cache would hold too many elements");
    ts_status status = ts_op_allocate(b, i, 2 * slots * row, size);
    int32_t *table = calloc((size_t)kv->pages + 1, sizeof *table);
    b->c->table = table;
    if (!status && !table)
        status = ts_no_memory(b->err, (size_t)kv->pages * sizeof *table);
    if (status)
        return status;
    for (int64_t p = 0; p < kv->pages; p++)
        table[p] = (int32_t)p;
    kv->table = table;
    kv->k = b->c->data[i];
    kv->v = (char *)b->c->data[i] + (size_t)(slots * row) * size;
    status = fill_pool(b, kv, cache_name(b, 0), kv->k);
    if (!status)
        status = fill_pool(b, kv, cache_name(b, 1), kv->v);
    return status || b->s->id == TS_OP_KV_STORE ? status : fill_rows(b);
}

static double load(const ts_op_call *c, const ts_kv *kv, const void *pool, int64_t i)
{
    if (kv->dtype == TS_KV_BF16)
        return (double)ts_bf16_to_f32(((const uint16_t *)pool)[i]);
    if (kv->dtype == TS_KV_F16)
        return (double)ts_f16_to_f32(((const uint16_t *)pool)[i]);
    return c->wide ? ((const double *)pool)[i] : (double)((const float *)pool)[i];
}

const char *const ts_op_pool_name[2] = {"cache_k", "cache_v"};

ts_status ts_op_kv_output(const ts_op_call *c, ts_tensor out[2], int *n, ts_error *err)
{
    const ts_kv *kv = pool_of(c);
    int64_t Hkv = ts_op_dim(c->op, c->args, "Hkv"), D = ts_op_dim(c->op, c->args, "D"), len = c->tokens;
    for (*n = 0; *n < 2; ++*n) {
        ts_tensor t = {.name = ts_op_pool_name[*n], .dtype = c->wide ? TS_F64 : TS_F32, .ndim = 3};
        memcpy(t.dim, (int64_t[]){Hkv, len, D}, 3 * sizeof *t.dim);
        t.size = (size_t)(Hkv * len * D) * (c->wide ? sizeof(double) : sizeof(float));
        void *y = malloc(t.size + 1);
        if (!y)
            return ts_no_memory(err, t.size);
        for (int64_t i = 0; i < Hkv * len * D; i++) {
            double v = load(c, kv, *n ? kv->v : kv->k, slot_of(kv, Hkv, D, i / D / len, i / D % len) + i % D);
            if (c->wide)
                ((double *)y)[i] = v;
            else
                ((float *)y)[i] = (float)v;
        }
        t.data = y;
        out[*n] = t;
    }
    return TS_OK;
}
