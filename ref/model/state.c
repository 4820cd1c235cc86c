#include <stdio.h>
#include <stdlib.h>

#include "kv.h"
#include "model.h"

static bool layer_state_new(const ts_config *c, bool full, ts_kv_dtype dtype, int64_t pages, const int32_t *table,
                            ts_layer_state *l)
{
    if (!full) {
        int64_t CD = 2 * c->Hk * c->Dk + c->Hv * c->Dv;
        l->conv = calloc((size_t)(CD * c->W), sizeof *l->conv);
        l->S = calloc((size_t)(c->Hv * c->Dk * c->Dv), sizeof *l->S);
        return l->conv && l->S;
    }
    size_t elements = (size_t)(pages * TS_PAGE * c->Hkv * c->D);
    size_t size = dtype == TS_KV_REAL ? sizeof(ts_real) : sizeof(uint16_t);
    l->kv = (ts_kv){.dtype = dtype, .page = TS_PAGE, .pages = pages, .table = table};
    l->kv.k = calloc(elements, size);
    l->kv.v = calloc(elements, size);
    return l->kv.k && l->kv.v;
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
    s->pages = (capacity + TS_PAGE - 1) / TS_PAGE;
    s->table = malloc((size_t)s->pages * sizeof *s->table);
    s->layer = calloc((size_t)c->layers, sizeof *s->layer);
    bool ok = s->table && s->layer;
    for (int64_t i = 0; ok && i < s->pages; i++)
        s->table[i] = (int32_t)i;
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
    for (int64_t i = 0; s->layer && i < s->layers; i++) {
        free(s->layer[i].conv);
        free(s->layer[i].S);
        free(s->layer[i].kv.k);
        free(s->layer[i].kv.v);
    }
    free(s->layer);
    free(s->table);
    free(s);
}

/* Pool pages -> [Hkv,len,D], widened. */
static void trace_kv(const ts_config *c, const ts_kv *kv, const void *pool, int64_t len, const char *name,
                     ts_trace *out)
{
    ts_real *y = malloc((size_t)(c->Hkv * len * c->D) * sizeof *y);
    for (int64_t h = 0; y && h < c->Hkv; h++)
        for (int64_t j = 0; j < len; j++)
            ts_kv_read(kv, pool, ts_kv_index(kv, c->Hkv, c->D, j, h), c->D, y + (h * len + j) * c->D);
    ts_trace_put(out, name, ts_real_dtype, 3, (int64_t[]){c->Hkv, len, c->D}, y);
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
            snprintf(name[n], sizeof name[n], "cache.%lld.%s%s", (long long)i, part[n], suffix);
        if (c->full[i]) {
            trace_kv(c, &l->kv, l->kv.k, s->pos, name[2], out);
            trace_kv(c, &l->kv, l->kv.v, s->pos, name[3], out);
        } else {
            ts_trace_put(out, name[0], ts_real_dtype, 2, (int64_t[]){CD, c->W}, l->conv);
            ts_trace_put(out, name[1], ts_real_dtype, 3, (int64_t[]){c->Hv, c->Dk, c->Dv}, l->S);
        }
    }
}
