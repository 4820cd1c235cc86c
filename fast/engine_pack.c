#include "engine_internal.h"

#include <stdlib.h>
#include <string.h>
#include "schedule.h"

/* The matrices of a layer, by their offset in ts_layer. */
static const size_t matrix_at[] = {
    offsetof(ts_layer, gate_proj),      offsetof(ts_layer, up_proj),       offsetof(ts_layer, down_proj),
    offsetof(ts_layer, in_qkv),         offsetof(ts_layer, in_z),          offsetof(ts_layer, in_b),
    offsetof(ts_layer, in_a),           offsetof(ts_layer, out),           offsetof(ts_layer, q_proj),
    offsetof(ts_layer, k_proj),         offsetof(ts_layer, v_proj),        offsetof(ts_layer, o_proj),
    offsetof(ts_layer, attn_conv_proj), offsetof(ts_layer, mlp_conv_proj),
};
enum { MATRICES = sizeof matrix_at / sizeof *matrix_at };

static ts_matrix *layer_matrix(ts_layer *l, int i)
{
    return (ts_matrix *)(void *)((char *)l + matrix_at[i]);
}

bool ts_engine_codes(const ts_engine *e, const ts_matrix *w)
{
    return ts_profile_codes(e->profile) && ts_matrix_is_a64s8(w);
}

static ts_status pack(const ts_engine *e, ts_matrix *m, ts_error *err)
{
    if (m->N == 0)
        return TS_OK;
    ts_op_id op = ts_engine_codes(e, m) ? TS_OP_MATMUL_A64S8 : TS_OP_MATMUL_DOT32;
    return ts_matrix_pack(m, op, e->profile->name, e->opt.threads, err);
}

ts_status ts_engine_weights_new(ts_engine *e, const ts_weights *w, ts_error *err)
{
    size_t layers = (size_t)w->cfg.layers;
    e->weights = *w;
    e->w = &e->weights;
    e->weights.layer = ts_engine_alloc(w->cfg.layers, 1, sizeof *e->weights.layer, err);
    if (!e->weights.layer)
        return TS_BAD;
    memcpy(e->weights.layer, w->layer, layers * sizeof *w->layer);
    ts_matrix *const end[] = {&e->weights.fc, &e->weights.selector_hidden, &e->weights.head};
    ts_status s = TS_OK;
    for (size_t i = 0; !s && i < (e->borrows_head ? 2u : 3u); i++)
        s = pack(e, end[i], err);
    for (size_t i = 0; !s && i < layers; i++)
        for (int j = 0; !s && j < MATRICES; j++)
            s = pack(e, layer_matrix(&e->weights.layer[i], j), err);
    return s;
}

void ts_engine_weights_free(ts_engine *e)
{
    if (!e->weights.layer)
        return;
    if (!e->borrows_head)
        ts_matrix_unpack(&e->weights.head);
    ts_matrix_unpack(&e->weights.fc);
    ts_matrix_unpack(&e->weights.selector_hidden);
    for (int64_t i = 0; i < e->weights.cfg.layers; i++)
        for (int j = 0; j < MATRICES; j++)
            ts_matrix_unpack(layer_matrix(&e->weights.layer[i], j));
    free(e->weights.layer);
}
