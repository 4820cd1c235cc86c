/* One layer by itself: its state put in and read out, its rows from the caller. */
#include "engine_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "config/draft.h"
#include "num/convert.h"

static ts_status piece(ts_engine *e, int64_t layer, const float *x, int64_t T, ts_trace *trace, ts_error *err)
{
    ts_piece p = {.e = e,
                  .c = &e->w->cfg,
                  .T = T,
                  .layer = layer,
                  .trace = trace,
                  .status = ts_engine_reserve(e, T, err),
                  .err = err};
    if (p.status != TS_OK)
        return p.status;
    ts_engine_positions(&p);
    memcpy(e->slot[TS_SLOT_H], x, (size_t)(T * p.c->C) * sizeof *x);
    ts_engine_layer(&p);
    e->pos += p.status == TS_OK ? T : 0;
    return p.status;
}

ts_status ts_engine_forward_layer(ts_engine *e, int64_t layer, const float *x, int64_t T, ts_trace *trace,
                                  ts_error *err)
{
    const ts_config *c = &e->w->cfg;
    if (T < 1 || layer < 0 || layer >= c->layers || T > e->opt.capacity - e->pos)
        return ts_fail(err, TS_BAD, e->w->path, NULL,
                       "%lld tokens at position %lld through layer %lld of %lld: the capacity is %lld",
                       (long long)T, (long long)e->pos, (long long)layer, (long long)c->layers,
                       (long long)e->opt.capacity);
    ts_status status = TS_OK;
    for (int64_t t = 0; t < T && status == TS_OK; t += TS_PIECE)
        status = piece(e, layer, x + t * c->C, T - t < TS_PIECE ? T - t : TS_PIECE, trace, err);
    return status;
}

/* [Hkv,pos,D] -> [pos,Hkv,D] */
static void by_token(const ts_config *c, int64_t pos, const float *from, float *to)
{
    for (int64_t h = 0; h < c->Hkv; h++)
        for (int64_t j = 0; j < pos; j++)
            memcpy(to + (j * c->Hkv + h) * c->D, from + (h * pos + j) * c->D, (size_t)c->D * sizeof *to);
}

static ts_status put_kv(ts_engine *e, int64_t layer, int64_t pos, const float *k, const float *v, ts_error *err)
{
    const ts_config *c = &e->w->cfg;
    int64_t n = pos * c->Hkv * c->D;
    if (!k || !v)
        return ts_fail(err, TS_BAD, e->w->path, "pos", "%lld earlier tokens, but no k and v of them",
                       (long long)pos);
    float *rows = ts_engine_alloc(2, n, sizeof *rows, err);
    if (!rows)
        return TS_BAD;
    by_token(c, pos, k, rows);
    by_token(c, pos, v, rows + n);
    ts_piece p = {.e = e, .c = c, .T = pos, .layer = layer, .err = err};
    ts_engine_op(&p, TS_OP_KV_STORE,
                 &(ts_kv_store_args){pos, c->Hkv, c->D, 0, rows, rows + n, ts_engine_kv(e, layer)});
    free(rows);
    return p.status;
}

ts_status ts_engine_state_put(ts_engine *e, int64_t layer, int64_t pos, const float *conv_or_k,
                              const float *recurrent_or_v, ts_error *err)
{
    const ts_config *c = &e->w->cfg;
    ts_engine_state *s = &e->state[layer];
    if (pos < 0 || pos > e->opt.capacity)
        return ts_fail(err, TS_BAD, e->w->path, "pos", "%lld, the capacity is %lld", (long long)pos,
                       (long long)e->opt.capacity);
    e->pos = pos;
    if (c->full[layer])
        return pos > 0 ? put_kv(e, layer, pos, conv_or_k, recurrent_or_v, err) : TS_OK;
    if (conv_or_k)
        memcpy(s->conv, conv_or_k, (size_t)((2 * c->Hk * c->Dk + c->Hv * c->Dv) * c->W) * sizeof *s->conv);
    if (recurrent_or_v)
        memcpy(s->recurrent, recurrent_or_v, (size_t)(c->Hv * c->Dk * c->Dv) * sizeof *s->recurrent);
    return TS_OK;
}

/* Pool pages of the tokens still held -> [Hkv,len,D], widened. */
static void trace_pool(const ts_engine *e, int64_t layer, const void *pool, const char *name, ts_trace *out)
{
    const ts_kv engine_kv = ts_engine_kv(e, layer), *kv = &engine_kv;
    const ts_config *c = &e->w->cfg;
    int64_t first = ts_draft_first_seen(c, layer, e->pos), len = e->pos - first, at = 0;
    float *y = ts_engine_alloc(c->Hkv * len, c->D, sizeof *y, NULL);
    for (int64_t h = 0; y && h < c->Hkv; h++)
        for (int64_t j = first; j < e->pos; j++) {
            int64_t row = ((kv->table[j / kv->page] * c->Hkv + h) * kv->page + j % kv->page) * c->D;
            for (int64_t d = 0; d < c->D; d++)
                y[at++] = kv->dtype == TS_KV_BF16  ? ts_bf16_to_f32(((const uint16_t *)pool)[row + d])
                          : kv->dtype == TS_KV_F16 ? ts_f16_to_f32(((const uint16_t *)pool)[row + d])
                                                   : ((const float *)pool)[row + d];
        }
    ts_trace_put(out, name, TS_F32, 3, (int64_t[]){c->Hkv, len, c->D}, y);
    free(y);
}

static void name_part(const ts_config *c, char name[96], int64_t layer, const char *part, const char *suffix)
{
    snprintf(name, 96, "%s.%lld.%s%s", c->draft ? "draft" : "cache", (long long)layer, part, suffix);
}

void ts_engine_state_trace(const ts_engine *e, const char *suffix, ts_trace *out)
{
    const ts_config *c = &e->w->cfg;
    int64_t CD = 2 * c->Hk * c->Dk + c->Hv * c->Dv;
    for (int64_t i = 0; i < c->layers; i++) {
        char a[96], b[96];
        const ts_engine_state *s = &e->state[i];
        name_part(c, a, i, c->full[i] ? "k" : "conv_states", suffix);
        name_part(c, b, i, c->full[i] ? "v" : "recurrent_states", suffix);
        if (c->full[i]) {
            trace_pool(e, i, s->k, a, out);
            trace_pool(e, i, s->v, b, out);
        } else {
            ts_trace_put(out, a, TS_F32, 2, (int64_t[]){CD, c->W}, s->conv);
            ts_trace_put(out, b, TS_F32, 3, (int64_t[]){c->Hv, c->Dk, c->Dv}, s->recurrent);
        }
    }
}
