/* Drafters on the registry's schedules: what ref/model/mtp.c and dflash.c define, piece by piece. */
#include <math.h>
#include <string.h>

#include "engine_internal.h"

static ts_piece piece_of(ts_engine *e, int64_t T, ts_error *err)
{
    ts_piece p = {.e = e, .c = &e->w->cfg, .T = T, .layer = -1, .err = err, .status = ts_engine_reserve(e, T, err)};
    if (!p.status)
        ts_engine_positions(&p);
    return p;
}

static void embed(ts_piece *p, const int32_t *ids)
{
    ts_engine_op(p, TS_OP_EMBED,
                 &(ts_embed_args){p->T, p->c->V, p->c->C, ids, &p->e->w->embed, p->e->slot[TS_SLOT_H]});
}

/* norm(from) * weight -> channels at.. of the joint rows. */
static void lay_half(ts_piece *p, const float *from, const ts_vector *weight, int64_t at)
{
    const int64_t C = p->c->C;
    float **s = p->e->slot;
    ts_engine_norm(p, p->T, from, weight, s[TS_SLOT_X]);
    for (int64_t t = 0; t < p->T && !p->status; t++)
        memcpy(s[TS_SLOT_JOINT] + t * 2 * C + at, s[TS_SLOT_X] + t * C, (size_t)C * sizeof(float));
}

static ts_status mtp_piece(ts_engine *e, const int32_t *ids, const float *hidden, int64_t T, float *logits,
                           float *out, ts_error *err)
{
    ts_piece p = piece_of(e, T, err);
    const ts_taps taps = {.hidden = out};
    float **s = e->slot;
    if (p.status)
        return p.status;
    p.taps = &taps;
    embed(&p, ids);
    lay_half(&p, s[TS_SLOT_H], &e->w->embed_norm, 0);
    lay_half(&p, hidden, &e->w->hidden_norm, p.c->C);
    ts_engine_linear(&p, &(ts_input){s[TS_SLOT_JOINT], T, 2 * p.c->C, false}, &e->w->fc, s[TS_SLOT_H]);
    p.layer = 0;
    ts_engine_layer(&p);
    p.layer = -1;
    ts_engine_head(&p, logits ? 1 : 0, logits);
    e->pos += p.status ? 0 : T;
    return p.status;
}

ts_status ts_engine_mtp(ts_engine *e, const int32_t *ids, const float *hidden, int64_t T, float *logits, float *out,
                        ts_error *err)
{
    const int64_t C = e->w->cfg.C;
    ts_status status = ts_engine_check_room(e, T, err);
    if (!status)
        status = ts_engine_check_ids(e, ids, T, err);
    for (int64_t t = 0; t < T && !status; t += TS_PIECE) {
        const int64_t n = T - t < TS_PIECE ? T - t : TS_PIECE;
        status = mtp_piece(e, ids + t, hidden + t * C, n, t + n == T ? logits : NULL, out ? out + t * C : NULL,
                           err);
    }
    return status;
}

/* Keys and values of rows x, stored at the rows' positions. */
static void store_keys(ts_piece *p, ts_input *x)
{
    const ts_config *c = p->c;
    const ts_layer *w = &p->e->w->layer[p->layer];
    float **s = p->e->slot;
    ts_engine_linear(p, x, &w->k_proj, s[TS_SLOT_WIDE]);
    ts_engine_norm_and_rope(p, c->Hkv, s[TS_SLOT_WIDE], &w->k_norm, s[TS_SLOT_K]);
    ts_engine_linear(p, x, &w->v_proj, s[TS_SLOT_V]);
    ts_engine_op(p, TS_OP_KV_STORE,
                 &(ts_kv_store_args){p->T, c->Hkv, c->D, p->e->pos, s[TS_SLOT_K], s[TS_SLOT_V],
                                     ts_engine_kv(p->e, p->layer)});
}

static ts_status check_finite(const ts_engine *e, const float *taps, int64_t n, ts_error *err)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(taps[i]))
            return ts_fail(err, TS_BAD, e->w->path, "taps", "element %lld is not a finite number", (long long)i);
    return TS_OK;
}

static ts_status context_piece(ts_engine *e, const float *taps, int64_t T, ts_error *err)
{
    ts_piece p = piece_of(e, T, err);
    float **s = e->slot;
    if (p.status)
        return p.status;
    ts_engine_linear(&p, &(ts_input){taps, T, e->w->fc.K, false}, &e->w->fc, s[TS_SLOT_H]);
    ts_engine_norm(&p, T, s[TS_SLOT_H], &e->w->hidden_norm, s[TS_SLOT_X]);
    ts_input x = {s[TS_SLOT_X], T, p.c->C, false};
    for (p.layer = 0; p.layer < p.c->layers; p.layer++)
        store_keys(&p, &x);
    e->pos += p.status ? 0 : T;
    return p.status;
}

ts_status ts_engine_dflash_context(ts_engine *e, const float *taps, int64_t T, ts_error *err)
{
    const int64_t width = e->w->fc.K, ring = e->pages * TS_PAGE;
    const int64_t most = ring < TS_PIECE ? ring : TS_PIECE; /* rows that threads store at once have places apart */
    ts_status status = ts_engine_check_room(e, T, err);
    if (!status)
        status = check_finite(e, taps, T * width, err);
    for (int64_t t = 0; t < T && !status; t += most)
        status = context_piece(e, taps + t * width, T - t < most ? T - t : most, err);
    return status;
}

static void convolve(ts_piece *p, int side, const float *x, const ts_vector *base)
{
    const ts_config *c = p->c;
    float **s = p->e->slot;
    ts_engine_op(p, TS_OP_GROUPED_CONV,
                 &(ts_grouped_conv_args){.T = p->T,
                                         .C = c->C,
                                         .W = c->dflash.conv_taps,
                                         .group = c->dflash.conv_group,
                                         .block = p->T,
                                         .side = side,
                                         .x = x,
                                         .base = base->v,
                                         .delta = s[TS_SLOT_DELTA],
                                         .y = s[TS_SLOT_MIXED]});
}

/* The sublayer's input: norm(h), behind the convolution of version 2, whose kernels stay in TS_SLOT_DELTA. */
static ts_input prepare(ts_piece *p, const ts_vector *norm, const ts_vector *base, const ts_matrix *projection)
{
    float **s = p->e->slot;
    ts_input x;
    ts_engine_norm_input(p, s[TS_SLOT_H], norm, false, &x);
    if (base->n == 0)
        return x;
    ts_engine_linear(p, &x, projection, s[TS_SLOT_DELTA]);
    convolve(p, 0, s[TS_SLOT_X], base);
    return (ts_input){s[TS_SLOT_MIXED], p->T, p->c->C, false};
}

/* h += the sublayer's output, behind the convolution of version 2. */
static void finish(ts_piece *p, const ts_vector *base)
{
    float **s = p->e->slot;
    const int64_t n = p->T * p->c->C;
    if (base->n > 0)
        convolve(p, 1, s[TS_SLOT_BRANCH], base);
    ts_engine_op(p, TS_OP_RESIDUAL_ADD,
                 &(ts_zip_args){n, s[TS_SLOT_H], s[base->n > 0 ? TS_SLOT_MIXED : TS_SLOT_BRANCH], s[TS_SLOT_MID]});
    if (!p->status)
        memcpy(s[TS_SLOT_H], s[TS_SLOT_MID], (size_t)n * sizeof(float));
}

static void attend(ts_piece *p, ts_input *x)
{
    const ts_config *c = p->c;
    const ts_layer *w = &p->e->w->layer[p->layer];
    float **s = p->e->slot;
    ts_engine_linear(p, x, &w->q_proj, s[TS_SLOT_WIDE]);
    ts_engine_norm_and_rope(p, c->Hq, s[TS_SLOT_WIDE], &w->q_norm, s[TS_SLOT_Q]);
    store_keys(p, x);
    ts_engine_op(p, TS_OP_ATTENTION,
                 &(ts_attention_args){.T = p->T,
                                      .Hq = c->Hq,
                                      .Hkv = c->Hkv,
                                      .D = c->D,
                                      .parts = (p->e->pos + p->T + 127) / 128,
                                      .window = c->dflash.window[p->layer],
                                      .both = !c->dflash.causal,
                                      .scale = pow((double)c->D, -0.5),
                                      .q = s[TS_SLOT_Q],
                                      .pos = p->e->row_pos,
                                      .len = p->e->row_len,
                                      .kv = ts_engine_kv(p->e, p->layer),
                                      .o = s[TS_SLOT_O]});
    ts_engine_linear(p, &(ts_input){s[TS_SLOT_O], p->T, c->Hq * c->D, false}, &w->o_proj, s[TS_SLOT_BRANCH]);
}

static void layer(ts_piece *p)
{
    const ts_layer *w = &p->e->w->layer[p->layer];
    float **s = p->e->slot;
    ts_input x = prepare(p, &w->input_norm, &w->attn_conv, &w->attn_conv_proj);
    attend(p, &x);
    finish(p, &w->attn_conv);
    x = prepare(p, &w->post_norm, &w->mlp_conv, &w->mlp_conv_proj);
    ts_engine_gate_up(p, &x, &w->gate_proj, &w->up_proj, s[TS_SLOT_ACT]);
    ts_engine_linear(p, &(ts_input){s[TS_SLOT_ACT], p->T, p->c->I, false}, &w->down_proj, s[TS_SLOT_BRANCH]);
    finish(p, &w->mlp_conv);
}

/* The anchor and k masks; every row sees the whole block. */
static void begin_block(ts_piece *p, int32_t anchor)
{
    int32_t ids[TS_MOST_BLOCK];
    for (int64_t t = 0; t < p->T; t++) {
        ids[t] = t == 0 ? anchor : (int32_t)p->c->dflash.mask;
        p->e->row_len[t] = (int32_t)(p->e->pos + p->T);
    }
    embed(p, ids);
}

ts_status ts_engine_dflash_block(ts_engine *e, int32_t anchor, int64_t k, float *logits, float *g, ts_error *err)
{
    const ts_config *c = &e->w->cfg;
    if (k < 1 || k >= c->dflash.block)
        return ts_fail(err, TS_BAD, e->w->path, NULL, "%lld proposals, the drafter's block allows 1..%lld",
                       (long long)k, (long long)c->dflash.block - 1);
    ts_status status = ts_engine_check_ids(e, &anchor, 1, err);
    if (!status)
        status = ts_engine_check_room(e, k + 1, err);
    if (status)
        return status;
    ts_piece p = piece_of(e, k + 1, err);
    if (p.status)
        return p.status;
    begin_block(&p, anchor);
    for (p.layer = 0; p.layer < c->layers; p.layer++)
        layer(&p);
    p.layer = -1;
    ts_engine_head(&p, k, logits);
    if (c->dflash.slots > 0)
        ts_engine_linear(&p, &(ts_input){e->slot[TS_SLOT_X] + c->C, k, c->C, false}, &e->w->selector_hidden, g);
    return p.status;
}

ts_status ts_engine_dflash_candidates(ts_engine *e, const float *logits, int32_t *cand, float *U, ts_error *err)
{
    const ts_config *c = &e->w->cfg;
    ts_piece p = {.e = e, .c = c, .layer = -1, .err = err};
    ts_engine_op(&p, TS_OP_TOP_SLOTS, &(ts_top_slots_args){1, c->V, c->dflash.slots, logits, cand, U});
    if (!p.status && cand[0] < 0)
        p.status = ts_fail(err, TS_BAD, e->w->path, "logits", "NaN");
    return p.status;
}

ts_status ts_engine_dflash_scores(ts_engine *e, int32_t prev, const int32_t *cand, const float *U, const float *g,
                                  float *s, ts_error *err)
{
    const ts_config *c = &e->w->cfg;
    ts_piece p = {.e = e, .c = c, .layer = -1, .err = err, .status = ts_engine_check_ids(e, &prev, 1, err)};
    ts_engine_op(&p, TS_OP_SELECTOR_SCORES,
                 &(ts_selector_scores_args){.T = 1,
                                            .K = c->dflash.slots,
                                            .R = c->dflash.rank,
                                            .V = c->V,
                                            .prev = &prev,
                                            .cand = cand,
                                            .U = U,
                                            .g = g,
                                            .pred = &e->w->predecessor,
                                            .succ = &e->w->successor,
                                            .y = s});
    return p.status;
}
