#include <stdio.h>
#include <string.h>

#include "model.h"
#include "op.h"

void ts_note(const ts_pass *p, const char *name, const ts_real *data, int64_t d0, int64_t d1, int64_t d2)
{
    if (!p->trace)
        return;
    char full[64];
    snprintf(full, sizeof full, "layer.%lld.%s", (long long)p->layer, name);
    ts_trace_put(p->trace, full, ts_real_dtype, d2 ? 3 : 2, (int64_t[]){d0, d1, d2}, data);
}

void ts_positions(const ts_pass *p)
{
    int64_t half = p->m->w->cfg.R / 2;
    for (int64_t t = 0; t < p->w->T; t++) {
        int64_t pos = p->s->pos + t;
        p->w->pos[t] = (int32_t)pos;
        p->w->len[t] = (int32_t)(pos + 1);
        p->m->op.angles(p->m->freq, p->m->w->cfg.R, pos, p->w->cos + t * half, p->w->sin + t * half);
    }
}

void ts_norm_stream(const ts_pass *p, const ts_real *weight)
{
    const ts_config *c = &p->m->w->cfg;
    p->m->op.norm(&(ts_rmsnorm_args){.T = p->w->T,
                                     .n = c->C,
                                     .centred = !p->m->w->folded,
                                     .eps = c->eps,
                                     .x = p->w->h,
                                     .w = weight,
                                     .y = p->w->x});
    p->m->op.store(p->w->x, p->w->T * c->C);
}

static void add_branch(const ts_pass *p)
{
    int64_t n = p->w->T * p->m->w->cfg.C;
    ts_residual_add(&(ts_zip_args){.n = n, .a = p->w->h, .b = p->w->branch, .y = p->w->h});
    p->m->op.store(p->w->h, n);
}

void ts_mlp(const ts_pass *p, const ts_matrix *gate, const ts_matrix *up, const ts_matrix *down, const ts_real *x,
            int64_t T, ts_real *branch)
{
    ts_work *b = p->w;
    int64_t n = T * gate->N;
    ts_linear(p, gate, x, T, b->gate_proj);
    ts_linear(p, up, x, T, b->up_proj);
    p->m->op.swiglu(&(ts_zip_args){.n = n, .a = b->gate_proj, .b = b->up_proj, .y = b->act});
    p->m->op.store(b->act, n);
    ts_linear(p, down, b->act, T, branch);
}

static void dense_layer(const ts_pass *p)
{
    const ts_layer *w = &p->m->w->layer[p->layer];
    const ts_work *b = p->w;
    int64_t T = b->T, I = p->m->w->cfg.I;
    ts_mlp(p, &w->gate_proj, &w->up_proj, &w->down_proj, b->x, T, b->branch);
    ts_note(p, "gate_proj", b->gate_proj, T, I, 0);
    ts_note(p, "up_proj", b->up_proj, T, I, 0);
    ts_note(p, "swiglu", b->act, T, I, 0);
}

static void mix(const ts_pass *p)
{
    const ts_config *c = &p->m->w->cfg;
    const bool full = c->full[p->layer];
    if (c->family == TS_FAMILY_KIMI)
        (full ? ts_mla_layer : ts_kda_layer)(p);
    else
        (full ? ts_attention_layer : ts_gdn_layer)(p);
}

/* Lays the rows side by side with those of the other layers that are tapped. */
static void tap_stream(const ts_pass *p)
{
    const int64_t C = p->m->w->cfg.C;
    for (int64_t i = 0; p->taps && i < p->taps->n; i++)
        for (int64_t t = 0; p->taps->layer[i] == p->layer && t < p->w->T; t++)
            memcpy((ts_real *)p->taps->stream + (t * p->taps->n + i) * C, p->w->h + t * C,
                   (size_t)C * sizeof(ts_real));
}

/* h += mixer(norm(h)); h += mlp(norm(h)) */
void ts_layer_pass(const ts_pass *p)
{
    const ts_config *c = &p->m->w->cfg;
    const ts_ref_layer *r = &p->m->layer[p->layer];
    const ts_work *b = p->w;
    ts_norm_stream(p, r->input_norm);
    ts_note(p, "input_norm", b->x, b->T, c->C, 0);
    mix(p);
    ts_note(p, "mixer", b->branch, b->T, c->C, 0);
    add_branch(p);
    ts_note(p, "mid", b->h, b->T, c->C, 0);
    ts_norm_stream(p, r->post_norm);
    ts_note(p, "post_norm", b->x, b->T, c->C, 0);
    (c->moe.E > 0 && c->moe.layer[p->layer] ? ts_moe_layer : dense_layer)(p);
    ts_note(p, "mlp", b->branch, b->T, c->C, 0);
    add_branch(p);
    ts_note(p, "out", b->h, b->T, c->C, 0);
    tap_stream(p);
}

ts_status ts_check_room(const ts_ref_model *m, const ts_ref_state *s, int64_t T, ts_error *err)
{
    if (T <= s->capacity - s->pos)
        return TS_OK;
    return ts_fail(err, TS_BAD, m->w->path, NULL,
                   "%lld tokens at position %lld exceed the state's capacity of %lld", (long long)T,
                   (long long)s->pos, (long long)s->capacity);
}

ts_status ts_check_ids(const ts_ref_model *m, const int32_t *ids, int64_t T, ts_error *err)
{
    for (int64_t t = 0; t < T; t++)
        if (ids[t] < 0 || ids[t] >= m->w->cfg.V)
            return ts_fail(err, TS_BAD, m->w->path, NULL, "token %lld has id %d, the vocabulary has 0..%lld",
                           (long long)t, ids[t], (long long)m->w->cfg.V - 1);
    return TS_OK;
}

static ts_status validate(const ts_ref_model *m, const ts_ref_state *s, const int32_t *ids, int64_t T, int64_t rows,
                          ts_error *err)
{
    if (m->w->cfg.draft != TS_DRAFT_NONE)
        return ts_fail(err, TS_BAD, m->w->path, NULL, "a drafter is not run as a model");
    if (T < 1 || rows < 0 || rows > T)
        return ts_fail(err, TS_BAD, m->w->path, NULL, "%lld tokens and %lld rows of logits", (long long)T,
                       (long long)rows);
    ts_status status = ts_check_room(m, s, T, err);
    return status ? status : ts_check_ids(m, ids, T, err);
}

ts_status ts_layer_run(const ts_ref_model *m, ts_ref_state *s, int64_t layer_number, const void *x, int64_t T,
                       ts_trace *trace, ts_error *err)
{
    ts_work w;
    if (T < 1 || layer_number < 0 || layer_number >= m->w->cfg.layers)
        return ts_fail(err, TS_BAD, m->w->path, NULL, "%lld tokens through layer %lld", (long long)T,
                       (long long)layer_number);
    ts_status status = ts_check_room(m, s, T, err);
    if (!status)
        status = ts_work_new(m, T, &w, err);
    if (status)
        return status;
    ts_pass p = {.m = m, .s = s, .w = &w, .trace = trace, .layer = layer_number};
    ts_positions(&p);
    memcpy(w.h, x, (size_t)(T * m->w->cfg.C) * sizeof *w.h);
    ts_layer_pass(&p);
    s->pos += T;
    ts_work_free(&w);
    return TS_OK;
}

void ts_head(const ts_pass *p, int64_t rows, ts_real *logits)
{
    const ts_config *c = &p->m->w->cfg;
    const ts_work *b = p->w;
    ts_norm_stream(p, p->m->final_norm);
    ts_trace_put(p->trace, "final_norm", ts_real_dtype, 2, (int64_t[]){b->T, c->C}, b->x);
    if (p->taps && p->taps->hidden)
        memcpy(p->taps->hidden, b->x, (size_t)(b->T * c->C) * sizeof *b->x);
    if (rows == 0 || !logits)
        return;
    ts_linear(p, &p->m->w->head, b->x + (b->T - rows) * c->C, rows, logits);
    ts_trace_put(p->trace, "logits", ts_real_dtype, 2, (int64_t[]){rows, c->V}, logits);
}

/* The text model: h = embed(ids); layers; logits = head(norm(h)). Advances the state by T. */
static ts_status run(ts_pass p, const int32_t *ids, int64_t T, int64_t rows, ts_real *logits, ts_error *err)
{
    ts_work w;
    ts_status status = ts_work_new(p.m, T, &w, err);
    if (status)
        return status;
    const ts_config *c = &p.m->w->cfg;
    p.w = &w;
    ts_positions(&p);
    ts_embed(&(ts_embed_args){.T = T, .V = c->V, .C = c->C, .id = ids, .w = &p.m->w->embed, .y = w.h});
    p.m->op.store(w.h, T * c->C);
    ts_trace_put(p.trace, "embed", ts_real_dtype, 2, (int64_t[]){T, c->C}, w.h);
    for (p.layer = 0; p.layer < c->layers; p.layer++)
        ts_layer_pass(&p);
    ts_head(&p, rows, logits);
    p.s->pos += T;
    p.s->kept = T <= p.s->most ? T : 0;
    ts_work_free(&w);
    return TS_OK;
}

ts_status ts_forward(const ts_ref_model *m, ts_ref_state *s, const int32_t *ids, int64_t T, int64_t rows,
                     void *logits, ts_trace *trace, ts_error *err)
{
    ts_status status = validate(m, s, ids, T, rows, err);
    return status ? status : run((ts_pass){.m = m, .s = s, .trace = trace}, ids, T, rows, logits, err);
}

ts_status ts_forward_taps(const ts_ref_model *m, ts_ref_state *s, const int32_t *ids, int64_t T, int64_t rows,
                          void *logits, const ts_taps *taps, ts_error *err)
{
    ts_status status = validate(m, s, ids, T, rows, err);
    return status ? status : run((ts_pass){.m = m, .s = s, .taps = taps}, ids, T, rows, logits, err);
}
