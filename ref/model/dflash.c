/* DFlash and DFlash2: k tokens drafted in one pass, from the target's residual streams. */
#include <math.h>
#include <string.h>

#include "model.h"
#include "op.h"

/* u = w->x mixed with the rows before it in the block (version 2), kernels made of itself; else u. Leaves the
 * kernels in w->delta for the sublayer's end. */
static const ts_real *conv_prepare(const ts_pass *p, const ts_real *base, const ts_matrix *projection)
{
    const ts_config *c = &p->m->w->cfg;
    const ts_work *b = p->w;
    if (!base)
        return b->x;
    ts_linear(p, projection, b->x, b->T, b->delta);
    ts_grouped_conv(&(ts_grouped_conv_args){.T = b->T,
                                            .C = c->C,
                                            .W = c->dflash.conv_taps,
                                            .group = c->dflash.conv_group,
                                            .block = b->T,
                                            .side = 0,
                                            .x = b->x,
                                            .base = base,
                                            .delta = b->delta,
                                            .y = b->mixed});
    p->m->op.store(b->mixed, b->T * c->C);
    return b->mixed;
}

/* h += the sublayer's output z, mixed by the kernels of its input (version 2). */
static void conv_finish(const ts_pass *p, const ts_real *base)
{
    const ts_config *c = &p->m->w->cfg;
    const ts_work *b = p->w;
    const ts_real *z = b->branch;
    if (base) {
        ts_grouped_conv(&(ts_grouped_conv_args){.T = b->T,
                                                .C = c->C,
                                                .W = c->dflash.conv_taps,
                                                .group = c->dflash.conv_group,
                                                .block = b->T,
                                                .side = 1,
                                                .x = b->branch,
                                                .base = base,
                                                .delta = b->delta,
                                                .y = b->mixed});
        p->m->op.store(b->mixed, b->T * c->C);
        z = b->mixed;
    }
    ts_residual_add(&(ts_zip_args){.n = b->T * c->C, .a = b->h, .b = z, .y = b->h});
    p->m->op.store(b->h, b->T * c->C);
}

/* Keys and values of rows x, stored at the rows' positions. */
static void store_keys(const ts_pass *p, const ts_real *x)
{
    const ts_config *c = &p->m->w->cfg;
    const ts_layer *w = &p->m->w->layer[p->layer];
    const ts_work *b = p->w;
    ts_linear(p, &w->k_proj, x, b->T, b->ak);
    ts_linear(p, &w->v_proj, x, b->T, b->av);
    ts_norm_and_rotate(p, b->ak, p->m->layer[p->layer].k_norm, c->Hkv);
    ts_kv_store(&(ts_kv_store_args){.T = b->T,
                                    .Hkv = c->Hkv,
                                    .D = c->D,
                                    .pos = p->s->pos,
                                    .k = b->ak,
                                    .v = b->av,
                                    .kv = p->s->layer[p->layer].kv});
}

/* o = softmax(q k^T D^-0.5) v over the context and the block, within the layer's window on both sides; branch = Wo
 * o. */
static void attend(const ts_pass *p, const ts_real *x)
{
    const ts_config *c = &p->m->w->cfg;
    const ts_layer *w = &p->m->w->layer[p->layer];
    const ts_work *b = p->w;
    const int64_t end = p->s->pos + b->T;
    ts_linear(p, &w->q_proj, x, b->T, b->aq);
    ts_norm_and_rotate(p, b->aq, p->m->layer[p->layer].q_norm, c->Hq);
    store_keys(p, x);
    p->m->op.attention(&(ts_attention_args){.T = b->T,
                                            .Hq = c->Hq,
                                            .Hkv = c->Hkv,
                                            .D = c->D,
                                            .parts = (end + TS_PARTITION - 1) / TS_PARTITION,
                                            .window = c->dflash.window[p->layer],
                                            .both = !c->dflash.causal,
                                            .scale = pow((double)c->D, -0.5),
                                            .q = b->aq,
                                            .pos = b->pos,
                                            .len = b->len,
                                            .kv = p->s->layer[p->layer].kv,
                                            .o = b->attn});
    p->m->op.store(b->attn, b->T * c->Hq * c->D);
    ts_linear(p, &w->o_proj, b->attn, b->T, b->branch);
}

/* h += finish(attend(prepare(norm(h)))); h += finish(mlp(prepare(norm(h)))) */
static void layer(const ts_pass *p)
{
    const ts_layer *w = &p->m->w->layer[p->layer];
    const ts_ref_layer *r = &p->m->layer[p->layer];
    ts_norm_stream(p, r->input_norm);
    attend(p, conv_prepare(p, r->attn_conv, &w->attn_conv_proj));
    conv_finish(p, r->attn_conv);
    ts_norm_stream(p, r->post_norm);
    const ts_real *x = conv_prepare(p, r->mlp_conv, &w->mlp_conv_proj);
    ts_mlp(p, &w->gate_proj, &w->up_proj, &w->down_proj, x, p->w->T, p->w->branch);
    conv_finish(p, r->mlp_conv);
}

static ts_status check_finite(const ts_ref_model *m, const ts_real *taps, int64_t n, ts_error *err)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(taps[i]))
            return ts_fail(err, TS_BAD, m->w->path, "taps", "element %lld is not a finite number", (long long)i);
    return TS_OK;
}

/* A context row per token of the target: c = norm(fc f), f its taps side by side; per layer k = rope(norm(Wk c)),
 * v = Wv c. It passes neither through the layers' norms nor through their convolutions.
 * taps [T,taps*C]. Roundings: those of a layer's linears and norms. */
ts_status ts_dflash_context(const ts_ref_model *m, ts_ref_state *s, const void *taps, int64_t T, ts_error *err)
{
    const int64_t width = m->w->cfg.dflash.taps * m->w->cfg.C;
    ts_work w;
    ts_status status = ts_check_room(m, s, T, err);
    if (!status)
        status = check_finite(m, taps, T * width, err);
    if (!status)
        status = ts_work_new(m, T, &w, err);
    if (status)
        return status;
    ts_pass p = {.m = m, .s = s, .w = &w};
    ts_positions(&p);
    ts_linear(&p, &m->w->fc, taps, T, w.h);
    ts_norm_stream(&p, m->hidden_norm);
    for (p.layer = 0; p.layer < m->w->cfg.layers; p.layer++)
        store_keys(&p, w.x);
    s->pos += T;
    ts_work_free(&w);
    return TS_OK;
}

/* h = embed of the anchor and k masks. Rows see each other whatever their order, unless the drafter is causal. */
static void begin_block(const ts_pass *p, int32_t anchor)
{
    const ts_weights *w = p->m->w;
    const int64_t C = w->cfg.C;
    for (int64_t t = 0; t < p->w->T; t++) {
        const int32_t id = t == 0 ? anchor : (int32_t)w->cfg.dflash.mask;
        ts_embed(&(ts_embed_args){.T = 1, .V = w->cfg.V, .C = C, .id = &id, .w = &w->embed, .y = p->w->h + t * C});
        p->w->len[t] = (int32_t)(p->s->pos + p->w->T);
    }
    p->m->op.store(p->w->h, p->w->T * C);
}

/* The block at the state's position n: the anchor and k masks at n .. n + k, embedded by the target's table,
 * through the layers; y = norm(h) of the masks, each of which proposes the token of its own position. logits =
 * head(y), g = hidden_projection y (version 2) logits [k,V], g [k,rank]. The block's keys stay behind the position,
 * where the next rows will lie. */
ts_status ts_dflash_block(const ts_ref_model *m, ts_ref_state *s, int32_t anchor, int64_t k, void *logits, void *g,
                          ts_error *err)
{
    const ts_config *c = &m->w->cfg;
    ts_work w;
    if (k < 1 || k >= c->dflash.block)
        return ts_fail(err, TS_BAD, m->w->path, NULL, "%lld proposals, the drafter's block allows 1..%lld",
                       (long long)k, (long long)c->dflash.block - 1);
    ts_status status = ts_check_ids(m, &anchor, 1, err);
    if (!status)
        status = ts_check_room(m, s, k + 1, err);
    if (!status)
        status = ts_work_new(m, k + 1, &w, err);
    if (status)
        return status;
    ts_pass p = {.m = m, .s = s, .w = &w};
    ts_positions(&p);
    begin_block(&p, anchor);
    for (p.layer = 0; p.layer < c->layers; p.layer++)
        layer(&p);
    ts_head(&p, k, logits);
    if (c->dflash.slots > 0)
        ts_linear(&p, &m->w->selector_hidden, w.x + c->C, k, g);
    ts_work_free(&w);
    return TS_OK;
}

ts_status ts_dflash_candidates(const ts_ref_model *m, const void *logits, int32_t *cand, void *U, ts_error *err)
{
    const ts_config *c = &m->w->cfg;
    ts_top_slots(
        &(ts_top_slots_args){.T = 1, .V = c->V, .K = c->dflash.slots, .logits = logits, .id = cand, .value = U});
    return cand[0] >= 0 ? TS_OK : ts_fail(err, TS_BAD, m->w->path, "logits", "NaN");
}

ts_status ts_dflash_scores(const ts_ref_model *m, int32_t prev, const int32_t *cand, const void *U, const void *g,
                           void *s, ts_error *err)
{
    const ts_config *c = &m->w->cfg;
    ts_status status = ts_check_ids(m, &prev, 1, err);
    if (status)
        return status;
    ts_selector_scores(&(ts_selector_scores_args){.T = 1,
                                                  .K = c->dflash.slots,
                                                  .R = c->dflash.rank,
                                                  .V = c->V,
                                                  .prev = &prev,
                                                  .cand = cand,
                                                  .U = U,
                                                  .g = g,
                                                  .pred = &m->w->predecessor,
                                                  .succ = &m->w->successor,
                                                  .y = s});
    return TS_OK;
}
