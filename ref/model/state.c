#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/draft.h"
#include "kv.h"
#include "model.h"
#include "op.h"

/* Channels of a cached row: a head's, or the latent and the part of the key that heads share. */
static int64_t row_width(const ts_config *c)
{
    return c->family == TS_FAMILY_KIMI ? c->rank + c->Dr : c->D;
}

static bool layer_state_new(const ts_config *c, bool full, ts_kv_dtype dtype, int64_t pages, const int32_t *table,
                            ts_layer_state *l)
{
    if (!full) {
        int64_t CD = 2 * c->Hk * c->Dk + c->Hv * c->Dv;
        l->conv = calloc((size_t)(CD * c->W), sizeof *l->conv);
        l->S = calloc((size_t)(c->Hv * c->Dk * c->Dv), sizeof *l->S);
        return l->conv && l->S;
    }
    const size_t rows = (size_t)(pages * TS_PAGE * c->Hkv), elements = rows * (size_t)row_width(c);
    l->kv = (ts_kv){.dtype = dtype, .page = TS_PAGE, .pages = pages, .table = table, .width = row_width(c)};
    l->kv.k = calloc(elements, ts_kv_size(dtype));
    l->kv.k_scale = calloc(rows, sizeof *l->kv.k_scale);
    if (c->family == TS_FAMILY_KIMI)
        return l->kv.k && l->kv.k_scale;
    l->kv.v = calloc(elements, ts_kv_size(dtype));
    l->kv.v_scale = calloc(rows, sizeof *l->kv.v_scale);
    return l->kv.k && l->kv.v && l->kv.k_scale && l->kv.v_scale;
}

/* A ring of pages, if the model can do with one: a page more, because the span may start within one. */
static int64_t pages_of(const ts_config *c, int64_t capacity)
{
    const int64_t span = ts_draft_span(c, capacity);
    return (span + TS_PAGE - 1) / TS_PAGE + (span < capacity);
}

ts_status ts_state_new(const ts_ref_model *m, int64_t capacity, ts_ref_state **out, ts_error *err)
{
    const ts_config *c = &m->w->cfg;
    if (capacity < 1 || capacity > c->max_positions)
        return ts_fail(err, TS_BAD, m->w->path, NULL, "%lld tokens of state, the model allows 1..%lld",
                       (long long)capacity, (long long)c->max_positions);
    ts_ref_state *s = calloc(1, sizeof *s);
    if (!s)
        return ts_no_memory(err, sizeof *s);
    s->capacity = capacity;
    s->layers = c->layers;
    s->pages = pages_of(c, capacity);
    const int64_t logical = (capacity + TS_PAGE - 1) / TS_PAGE;
    s->table = malloc((size_t)logical * sizeof *s->table);
    s->layer = calloc((size_t)c->layers, sizeof *s->layer);
    bool ok = s->table && s->layer;
    for (int64_t i = 0; ok && i < logical; i++)
        s->table[i] = (int32_t)(i % s->pages);
    for (int64_t i = 0; ok && i < c->layers; i++)
        ok = layer_state_new(c, c->full[i], m->profile->kv, s->pages, s->table, &s->layer[i]);
    if (!ok) {
        ts_state_free(s);
        return ts_fail(err, TS_BAD, m->w->path, NULL, "out of memory for %lld tokens of state",
                       (long long)capacity);
    }
    *out = s;
    return TS_OK;
}

void ts_state_free(ts_ref_state *s)
{
    if (!s)
        return;
    if (s->layer)
        ts_state_forget(s);
    for (int64_t i = 0; s->layer && i < s->layers; i++) {
        free(s->layer[i].conv);
        free(s->layer[i].S);
        free(s->layer[i].kv.k);
        free(s->layer[i].kv.v);
        free(s->layer[i].kv.k_scale);
        free(s->layer[i].kv.v_scale);
    }
    free(s->layer);
    free(s->table);
    free(s);
}

/* x [Hkv,pos,D] -> channels from `first` on of rows to[pos,Hkv,width] */
static void lay_rows(const ts_config *c, int64_t pos, const ts_real *x, int64_t D, int64_t first, int64_t width,
                     ts_real *to)
{
    for (int64_t h = 0; h < c->Hkv; h++)
        for (int64_t j = 0; j < pos; j++)
            memcpy(to + (j * c->Hkv + h) * width + first, x + (h * pos + j) * D, (size_t)D * sizeof *x);
}

/* k, v as state_trace has them -> pages, rounded by the operation that stores them in a forward pass. */
static ts_status put_kv(const ts_config *c, const ts_kv *kv, int64_t pos, const ts_real *k, const ts_real *v,
                        ts_error *err)
{
    const bool latent = c->family == TS_FAMILY_KIMI;
    const int64_t width = row_width(c), n = c->Hkv * pos * width;
    ts_real *rows = malloc((size_t)(2 * n + 1) * sizeof *rows);
    if (!rows)
        return ts_no_memory(err, (size_t)(2 * n) * sizeof *rows);
    lay_rows(c, pos, k, latent ? c->rank : width, 0, width, rows);
    lay_rows(c, pos, v, latent ? c->Dr : width, latent ? c->rank : 0, width, latent ? rows : rows + n);
    ts_kv_store(
        &(ts_kv_store_args){.T = pos, .Hkv = c->Hkv, .D = width, .pos = 0, .k = rows, .v = rows + n, .kv = *kv});
    free(rows);
    return TS_OK;
}

ts_status ts_state_put(const ts_ref_model *m, ts_ref_state *s, int64_t layer, int64_t pos, const void *conv_or_k,
                       const void *recurrent_or_v, ts_error *err)
{
    const ts_config *c = &m->w->cfg;
    ts_layer_state *l = &s->layer[layer];
    if (pos < 0 || pos > s->capacity)
        return ts_fail(err, TS_BAD, m->w->path, "pos", "%lld, the state's capacity is %lld", (long long)pos,
                       (long long)s->capacity);
    s->pos = pos;
    if (c->full[layer]) {
        if (pos == 0)
            return TS_OK;
        if (!conv_or_k || !recurrent_or_v)
            return ts_fail(err, TS_BAD, m->w->path, "pos", "%lld earlier tokens, but no k and v of them",
                           (long long)pos);
        return put_kv(c, &l->kv, pos, conv_or_k, recurrent_or_v, err);
    }
    if (conv_or_k)
        memcpy(l->conv, conv_or_k, (size_t)((2 * c->Hk * c->Dk + c->Hv * c->Dv) * c->W) * sizeof *l->conv);
    if (recurrent_or_v)
        memcpy(l->S, recurrent_or_v, (size_t)(c->Hv * c->Dk * c->Dv) * sizeof *l->S);
    return TS_OK;
}

/* Tokens of a cache. */
typedef struct {
    int64_t first, end;
} tokens;

/* Channels from .. from+n-1 of the tokens' rows in a pool's pages -> [Hkv,end-first,n], widened. */
static void trace_kv(const ts_config *c, const ts_kv *kv, const void *pool, tokens at, int64_t from, int64_t n,
                     const char *name, ts_trace *out)
{
    const int64_t len = at.end - at.first;
    ts_real *y = malloc((size_t)(c->Hkv * len * n) * sizeof *y);
    for (int64_t h = 0; y && h < c->Hkv; h++)
        for (int64_t j = 0; j < len; j++)
            ts_kv_read(kv, pool, ts_kv_index(kv, c->Hkv, row_width(c), at.first + j, h) + from, n,
                       y + (h * len + j) * n);
    ts_trace_put(out, name, ts_real_dtype, 3, (int64_t[]){c->Hkv, len, n}, y);
    free(y);
}

void ts_state_trace(const ts_ref_model *m, const ts_ref_state *s, const char *suffix, ts_trace *out)
{
    const ts_config *c = &m->w->cfg;
    int64_t CD = 2 * c->Hk * c->Dk + c->Hv * c->Dv;
    for (int64_t i = 0; i < c->layers; i++) {
        const ts_layer_state *l = &s->layer[i];
        char name[4][96];
        const char *part[4] = {"conv_states", "recurrent_states", "k", "v"};
        for (int n = 0; n < 4; n++)
            snprintf(name[n], sizeof name[n], "%s.%lld.%s%s", c->draft ? "draft" : "cache", (long long)i, part[n],
                     suffix);
        const tokens at = {ts_draft_first_seen(c, i, s->pos), s->pos};
        if (c->full[i] && c->family == TS_FAMILY_KIMI) {
            trace_kv(c, &l->kv, l->kv.k, at, 0, c->rank, name[2], out);
            trace_kv(c, &l->kv, l->kv.k, at, c->rank, c->Dr, name[3], out);
        } else if (c->full[i]) {
            trace_kv(c, &l->kv, l->kv.k, at, 0, c->D, name[2], out);
            trace_kv(c, &l->kv, l->kv.v, at, 0, c->D, name[3], out);
        } else {
            ts_trace_put(out, name[0], ts_real_dtype, 2, (int64_t[]){CD, c->W}, l->conv);
            ts_trace_put(out, name[1], ts_real_dtype, 3, (int64_t[]){c->Hv, c->Dk, c->Dv}, l->S);
        }
    }
}
