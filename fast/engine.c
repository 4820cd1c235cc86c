#include "engine_internal.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_CAPACITY = 1 << 24, MAX_THREADS = 1024 }; /* positions the RoPE tables are defined for */

static void clear_recurrent(ts_engine *e)
{
    const ts_config *c = &e->w->cfg;
    int64_t CD = 2 * c->Hk * c->Dk + c->Hv * c->Dv;
    for (int64_t i = 0; i < c->layers; i++) {
        if (c->full[i])
            continue;
        memset(e->state[i].conv, 0, (size_t)(CD * c->W) * sizeof(float));
        memset(e->state[i].recurrent, 0, (size_t)(c->Hv * c->Dk * c->Dv) * sizeof(float));
    }
}

void ts_engine_reset(ts_engine *e)
{
    e->pos = e->kept = 0;
    clear_recurrent(e);
    ts_engine_pages_reset(e);
}

static ts_status new_recurrent(ts_engine *e, ts_error *err)
{
    const ts_config *c = &e->w->cfg;
    int64_t CD = 2 * c->Hk * c->Dk + c->Hv * c->Dv;
    for (int64_t i = 0; i < c->layers; i++) {
        if (c->full[i])
            continue;
        e->state[i].conv = ts_engine_alloc(CD, c->W, sizeof(float), err);
        e->state[i].recurrent = ts_engine_alloc(c->Hv * c->Dk, c->Dv, sizeof(float), err);
        if (!e->state[i].conv || !e->state[i].recurrent)
            return TS_BAD;
    }
    return TS_OK;
}

static ts_status check_options(const ts_weights *w, const ts_profile *p, const ts_engine_options *o, ts_error *err)
{
    if (w->rate)
        return ts_fail(err, TS_BAD, w->path, NULL, "GGUF models run on the reference only (--engine ref32)");
    if (!ts_config_is_dense(&w->cfg))
        return ts_fail(err, TS_BAD, w->path, NULL, "models of type %s run on the reference only (--engine ref32)",
                       w->cfg.model_type);
    if (o->threads < 1 || o->threads > MAX_THREADS)
        return ts_fail(err, TS_BAD, w->path, "threads", "%d is not in 1..%d", o->threads, MAX_THREADS);
    if (!ts_profile_is_house(p))
        return ts_fail(err, TS_USAGE, NULL, "--profile", "'%s' is not one that engine fast runs: use ref32",
                       p->name);
    if (o->capacity < 1 || o->capacity > MAX_CAPACITY)
        return ts_fail(err, TS_BAD, w->path, "capacity", "%lld tokens is not in 1..%d", (long long)o->capacity,
                       MAX_CAPACITY);
    if (p->kv > TS_KV_F16)
        return ts_fail(err, TS_USAGE, NULL, "--kv", "no schedule stores %s: use engine ref32", ts_kv_name(p->kv));
    return TS_OK;
}

/* target: of a drafter, whose head it lends; else NULL */
static ts_status engine_new(const ts_weights *w, const ts_engine *target, const ts_profile *p,
                            const ts_engine_options *o, ts_engine **out, ts_error *err)
{
    *out = NULL;
    ts_status status = check_options(w, p, o, err);
    if (status)
        return status;
    ts_engine *e = ts_engine_alloc(1, 1, sizeof *e, err);
    if (!e)
        return TS_BAD;
    e->w = w;
    e->profile = p;
    e->opt = *o;
    e->head = w->head.data;
    e->borrows_head = target != NULL && e->head == target->head;
    e->state = ts_engine_alloc(w->cfg.layers, 1, sizeof *e->state, err);
    if (!e->state || ts_engine_weights_new(e, w, err) != TS_OK || new_recurrent(e, err) != TS_OK ||
        ts_engine_pages_new(e, err) != TS_OK) {
        ts_engine_free(e);
        return TS_BAD;
    }
    if (e->borrows_head)
        e->weights.head = target->weights.head;
    ts_engine_reset(e);
    *out = e;
    return TS_OK;
}

ts_status ts_engine_new(const ts_weights *w, const ts_profile *p, const ts_engine_options *o, ts_engine **out,
                        ts_error *err)
{
    return engine_new(w, NULL, p, o, out, err);
}

ts_status ts_engine_new_drafter(const ts_weights *w, const ts_engine *target, ts_engine **out, ts_error *err)
{
    return engine_new(w, target, target->profile, &target->opt, out, err);
}

void ts_engine_free(ts_engine *e)
{
    if (!e)
        return;
    ts_engine_pages_free(e);
    ts_engine_forget(e);
    for (int64_t i = 0; e->state && i < e->w->cfg.layers; i++) {
        free(e->state[i].conv);
        free(e->state[i].recurrent);
    }
    ts_engine_reserve(e, 0, NULL);
    ts_engine_weights_free(e);
    free(e->state);
    free(e);
}

ts_status ts_engine_check_room(const ts_engine *e, int64_t T, ts_error *err)
{
    if (T <= e->opt.capacity - e->pos)
        return TS_OK;
    return ts_fail(err, TS_BAD, e->w->path, "ids", "%lld tokens at position %lld exceed the capacity of %lld",
                   (long long)T, (long long)e->pos, (long long)e->opt.capacity);
}

ts_status ts_engine_check_ids(const ts_engine *e, const int32_t *ids, int64_t T, ts_error *err)
{
    for (int64_t t = 0; t < T; t++)
        if (ids[t] < 0 || ids[t] >= e->w->cfg.V)
            return ts_fail(err, TS_BAD, e->w->path, "ids", "id %ld at %lld is not in 0..%lld", (long)ids[t],
                           (long long)t, (long long)e->w->cfg.V - 1);
    return TS_OK;
}

static ts_status check_call(const ts_engine *e, const int32_t *ids, int64_t T, int64_t rows, ts_error *err)
{
    const char *path = e->w->path;
    if (e->w->cfg.draft != TS_DRAFT_NONE)
        return ts_fail(err, TS_BAD, path, NULL, "a drafter is not run as a model");
    if (T < 1)
        return ts_fail(err, TS_BAD, path, "ids", "%lld tokens: at least one is needed", (long long)T);
    if (rows < 0 || rows > T)
        return ts_fail(err, TS_BAD, path, "logits", "%lld rows asked for, but %lld tokens run", (long long)rows,
                       (long long)T);
    ts_status status = ts_engine_check_room(e, T, err);
    return status ? status : ts_engine_check_ids(e, ids, T, err);
}

void ts_engine_positions(ts_piece *p)
{
    ts_engine *e = p->e;
    for (int64_t t = 0; t < p->T; t++) {
        e->row_pos[t] = (int32_t)(e->pos + t);
        e->row_len[t] = (int32_t)(e->pos + t + 1);
    }
    ts_engine_angles(e, e->pos + p->T);
}

static void embed(ts_piece *p, const int32_t *ids)
{
    const ts_config *c = p->c;
    ts_engine *e = p->e;
    ts_engine_positions(p);
    ts_engine_op(p, TS_OP_EMBED, &(ts_embed_args){p->T, c->V, c->C, ids, &e->w->embed, e->slot[TS_SLOT_H]});
    ts_engine_note(p, "embed", p->T, 0, c->C, e->slot[TS_SLOT_H]);
}

/* Of all rows if they are traced or tapped. */
void ts_engine_head(ts_piece *p, int64_t rows, float *logits)
{
    const ts_config *c = p->c;
    float *h = p->e->slot[TS_SLOT_H], *x = p->e->slot[TS_SLOT_X];
    const bool tapped = p->taps && p->taps->hidden;
    int64_t first = p->trace || tapped ? 0 : p->T - rows, skip = (p->T - rows) * c->C;
    if (first < p->T)
        ts_engine_norm(p, p->T - first, h + first * c->C, &p->e->w->final_norm, x + first * c->C);
    ts_engine_note(p, "final_norm", p->T, 0, c->C, x);
    if (tapped && !p->status)
        memcpy((float *)p->taps->hidden + p->first * c->C, x, (size_t)(p->T * c->C) * sizeof *x);
    if (rows == 0)
        return;
    ts_engine_linear(p, &(ts_input){x + skip, rows, c->C, false}, &p->e->w->head, logits);
    ts_engine_note(p, "logits", rows, 0, c->V, logits);
}

/* What comes out of a forward beside logits. */
typedef struct {
    ts_trace *trace;
    const ts_taps *taps;
} aside;

static ts_status piece(ts_engine *e, const int32_t *ids, int64_t first, int64_t T, int64_t rows, float *logits,
                       aside to, ts_error *err)
{
    ts_piece p = {.e = e,
                  .c = &e->w->cfg,
                  .T = T,
                  .layer = -1,
                  .trace = to.trace,
                  .status = ts_engine_reserve(e, T, err),
                  .err = err,
                  .taps = to.taps,
                  .first = first};
    if (p.status != TS_OK)
        return p.status;
    embed(&p, ids);
    for (p.layer = 0; p.layer < p.c->layers; p.layer++)
        ts_engine_layer(&p);
    p.layer = -1;
    ts_engine_head(&p, rows, logits);
    e->pos += p.status == TS_OK ? T : 0;
    return p.status;
}

/* The last `rows` rows of T, cut to those among t .. t+n. */
static int64_t rows_within(int64_t T, int64_t rows, int64_t t, int64_t n)
{
    int64_t first = T - rows > t ? T - rows : t;
    return t + n > first ? t + n - first : 0;
}

static ts_status forward(ts_engine *e, const int32_t *ids, int64_t T, int64_t rows, float *logits, aside to,
                         ts_error *err)
{
    ts_status status = TS_OK;
    e->kept = 0;
    for (int64_t t = 0; t < T && status == TS_OK; t += TS_PIECE) {
        int64_t n = T - t < TS_PIECE ? T - t : TS_PIECE, wanted = rows_within(T, rows, t, n);
        status = piece(e, ids + t, t, n, wanted, logits, to, err);
        logits = wanted > 0 ? logits + wanted * e->w->cfg.V : logits;
    }
    e->kept = !status && T <= e->most ? T : 0;
    return status;
}

ts_status ts_engine_forward_taps(ts_engine *e, const int32_t *ids, int64_t T, int64_t rows, float *logits,
                                 const ts_taps *taps, ts_error *err)
{
    ts_status status = check_call(e, ids, T, rows, err);
    return status ? status : forward(e, ids, T, rows, logits, (aside){.taps = taps}, err);
}

ts_status ts_engine_forward(ts_engine *e, const int32_t *ids, int64_t T, int64_t rows, float *logits,
                            ts_trace *trace, ts_error *err)
{
    ts_status status = check_call(e, ids, T, rows, err);
    if (status != TS_OK)
        return status;
    if (logits || !trace)
        return forward(e, ids, T, logits ? rows : 0, logits, (aside){.trace = trace}, err);
    /* Only the trace wants them. */
    float *own = ts_engine_alloc(rows, e->w->cfg.V, sizeof *own, err);
    status = own ? forward(e, ids, T, rows, own, (aside){.trace = trace}, err) : TS_BAD;
    free(own);
    return status;
}
