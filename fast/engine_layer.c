#include "engine_internal.h"

#include <math.h>
#include <string.h>

static const double l2_eps = 1e-6;

/* Columns c .. c+n of x [T,width], dense. */
static void columns(const float *x, int64_t T, int64_t width, int64_t c, int64_t n, float *y)
{
    for (int64_t t = 0; t < T; t++)
        memcpy(y + t * n, x + t * width + c, (size_t)n * sizeof *y);
}

/* conv [T,CD] -> q, k of unit length (q times Dk^-0.5), v. */
static void split_qkv(ts_piece *p)
{
    const ts_config *c = p->c;
    float **s = p->e->slot;
    int64_t T = p->T, KD = c->Hk * c->Dk, VD = c->Hv * c->Dv, CD = 2 * KD + VD;
    float *q = s[TS_SLOT_WIDE], *k = s[TS_SLOT_WIDE] + T * KD;
    columns(s[TS_SLOT_CONV], T, CD, 0, KD, q);
    columns(s[TS_SLOT_CONV], T, CD, KD, KD, k);
    columns(s[TS_SLOT_CONV], T, CD, 2 * KD, VD, s[TS_SLOT_V]);
    double scale = pow((double)c->Dk, -0.5);
    ts_engine_op(p, TS_OP_L2NORM, &(ts_l2norm_args){T, c->Hk, c->Dk, l2_eps, scale, q, s[TS_SLOT_Q]});
    ts_engine_op(p, TS_OP_L2NORM, &(ts_l2norm_args){T, c->Hk, c->Dk, l2_eps, 1.0, k, s[TS_SLOT_K]});
    ts_engine_note(p, "q", T, c->Hk, c->Dk, s[TS_SLOT_Q]);
    ts_engine_note(p, "k", T, c->Hk, c->Dk, s[TS_SLOT_K]);
    ts_engine_note(p, "v", T, c->Hv, c->Dv, s[TS_SLOT_V]);
}

static void gates(ts_piece *p, const ts_layer *w, ts_input *x)
{
    const ts_config *c = p->c;
    float **s = p->e->slot;
    ts_engine_linear(p, x, &w->in_b, s[TS_SLOT_B]);
    ts_engine_linear(p, x, &w->in_a, s[TS_SLOT_A]);
    ts_engine_op(p, TS_OP_GDN_GATES,
                 &(ts_gdn_gates_args){p->T, c->Hv, s[TS_SLOT_A], s[TS_SLOT_B], w->A_log.v, w->dt_bias.v,
                                      s[TS_SLOT_G], s[TS_SLOT_BETA]});
    ts_engine_note(p, "beta", p->T, 0, c->Hv, s[TS_SLOT_BETA]);
    ts_engine_note(p, "g", p->T, 0, c->Hv, s[TS_SLOT_G]);
}

/* Gated DeltaNet: conv, delta rule, gated norm, out. */
static void linear_mixer(ts_piece *p, const ts_layer *w, ts_input *x)
{
    const ts_config *c = p->c;
    ts_engine_state *state = &p->e->state[p->layer];
    float **s = p->e->slot;
    int64_t T = p->T, VD = c->Hv * c->Dv, CD = 2 * c->Hk * c->Dk + VD;
    ts_engine_keep_before(p);
    ts_engine_qkv_conv(p, x, &w->in_qkv, w->conv.v, state->conv, s[TS_SLOT_CONV]);
    ts_engine_keep_inputs(p);
    ts_engine_note(p, "qkv", T, 0, CD, s[TS_SLOT_WIDE]);
    ts_engine_note(p, "conv", T, 0, CD, s[TS_SLOT_CONV]);
    split_qkv(p);
    gates(p, w, x);
    ts_engine_linear(p, x, &w->in_z, s[TS_SLOT_Z]);
    ts_engine_note(p, "z", T, c->Hv, c->Dv, s[TS_SLOT_Z]);
    ts_engine_keep_rows(p);
    ts_engine_op(p, TS_OP_GDN_STEP,
                 &(ts_gdn_args){T, c->Hk, c->Hv, c->Dk, c->Dv, p->e->pos, 0, s[TS_SLOT_Q], s[TS_SLOT_K],
                                s[TS_SLOT_V], s[TS_SLOT_G], s[TS_SLOT_BETA], state->recurrent, s[TS_SLOT_O]});
    ts_engine_note(p, "o", T, c->Hv, c->Dv, s[TS_SLOT_O]);
    ts_engine_op(p, TS_OP_GATED_NORM,
                 &(ts_gated_norm_args){T, c->Hv, c->Dv, c->eps, s[TS_SLOT_O], w->gdn_norm.v, s[TS_SLOT_Z],
                                       s[TS_SLOT_GATED]});
    ts_engine_note(p, "gated", T, c->Hv, c->Dv, s[TS_SLOT_GATED]);
    ts_engine_linear(p, &(ts_input){s[TS_SLOT_GATED], T, VD, false}, &w->out, s[TS_SLOT_BRANCH]);
}

void ts_engine_norm_and_rope(ts_piece *p, int64_t H, const float *x, const ts_vector *w, float *y)
{
    const ts_config *c = p->c;
    ts_engine *e = p->e;
    int64_t at = e->pos * (c->R / 2);
    ts_engine_norm(p, p->T * H, x, w, e->slot[TS_SLOT_NORMED]);
    ts_engine_op(p, TS_OP_ROPE,
                 &(ts_rope_args){p->T, H, c->D, c->R, e->slot[TS_SLOT_NORMED], e->cos + at, e->sin + at, y});
}

/* q_proj gives each head its query, then its gate. */
static void queries(ts_piece *p, const ts_layer *w, ts_input *x)
{
    const ts_config *c = p->c;
    float **s = p->e->slot;
    int64_t heads = p->T * c->Hq;
    ts_engine_linear(p, x, &w->q_proj, s[TS_SLOT_WIDE]);
    columns(s[TS_SLOT_WIDE], heads, 2 * c->D, 0, c->D, s[TS_SLOT_CONV]);
    columns(s[TS_SLOT_WIDE], heads, 2 * c->D, c->D, c->D, s[TS_SLOT_Z]);
    ts_engine_norm_and_rope(p, c->Hq, s[TS_SLOT_CONV], &w->q_norm, s[TS_SLOT_Q]);
    ts_engine_note(p, "q", p->T, c->Hq, c->D, s[TS_SLOT_Q]);
    ts_engine_note(p, "gate", p->T, c->Hq, c->D, s[TS_SLOT_Z]);
}

static void attend(ts_piece *p)
{
    const ts_config *c = p->c;
    ts_engine *e = p->e;
    float **s = e->slot;
    ts_kv kv = ts_engine_kv(e, p->layer);
    ts_engine_op(p, TS_OP_KV_STORE,
                 &(ts_kv_store_args){p->T, c->Hkv, c->D, e->pos, s[TS_SLOT_K], s[TS_SLOT_V], kv});
    ts_attention_args a = {.T = p->T,
                           .Hq = c->Hq,
                           .Hkv = c->Hkv,
                           .D = c->D,
                           .parts = (e->pos + p->T + 127) / 128,
                           .scale = pow((double)c->D, -0.5),
                           .q = s[TS_SLOT_Q],
                           .pos = e->row_pos,
                           .len = e->row_len,
                           .kv = kv,
                           .o = s[TS_SLOT_O]};
    ts_engine_op(p, TS_OP_ATTENTION, &a);
    ts_engine_note(p, "attn", p->T, c->Hq, c->D, s[TS_SLOT_O]);
}

static void full_mixer(ts_piece *p, const ts_layer *w, ts_input *x)
{
    const ts_config *c = p->c;
    float **s = p->e->slot;
    int64_t T = p->T, QD = c->Hq * c->D;
    queries(p, w, x);
    ts_engine_linear(p, x, &w->k_proj, s[TS_SLOT_WIDE]);
    ts_engine_norm_and_rope(p, c->Hkv, s[TS_SLOT_WIDE], &w->k_norm, s[TS_SLOT_K]);
    ts_engine_note(p, "k", T, c->Hkv, c->D, s[TS_SLOT_K]);
    ts_engine_linear(p, x, &w->v_proj, s[TS_SLOT_V]);
    ts_engine_note(p, "v", T, c->Hkv, c->D, s[TS_SLOT_V]);
    attend(p);
    ts_engine_op(p, TS_OP_SIGMOID_GATE, &(ts_zip_args){T * QD, s[TS_SLOT_O], s[TS_SLOT_Z], s[TS_SLOT_GATED]});
    ts_engine_note(p, "gated", T, c->Hq, c->D, s[TS_SLOT_GATED]);
    ts_engine_linear(p, &(ts_input){s[TS_SLOT_GATED], T, QD, false}, &w->o_proj, s[TS_SLOT_BRANCH]);
}

static void mlp(ts_piece *p, const ts_layer *w, ts_input *x)
{
    int64_t T = p->T, I = p->c->I;
    float **s = p->e->slot;
    ts_engine_gate_up(p, x, &w->gate_proj, &w->up_proj, s[TS_SLOT_ACT]);
    ts_engine_note(p, "gate_proj", T, 0, I, s[TS_SLOT_GATE]);
    ts_engine_note(p, "up_proj", T, 0, I, s[TS_SLOT_UP]);
    ts_engine_note(p, "swiglu", T, 0, I, s[TS_SLOT_ACT]);
    ts_engine_linear(p, &(ts_input){s[TS_SLOT_ACT], T, I, false}, &w->down_proj, s[TS_SLOT_BRANCH]);
    ts_engine_note(p, "mlp", T, 0, p->c->C, s[TS_SLOT_BRANCH]);
}

/* All linears of the mixer's input do. */
static bool mixer_reads_codes(const ts_engine *e, const ts_layer *w, bool full)
{
    if (full)
        return ts_engine_codes(e, &w->q_proj) && ts_engine_codes(e, &w->k_proj) && ts_engine_codes(e, &w->v_proj);
    return ts_engine_codes(e, &w->in_qkv) && ts_engine_codes(e, &w->in_z) && ts_engine_codes(e, &w->in_a) &&
           ts_engine_codes(e, &w->in_b);
}

/* Lays the rows side by side with those of the other layers that are tapped. */
static void tap_stream(const ts_piece *p)
{
    const int64_t C = p->c->C;
    for (int64_t i = 0; p->taps && i < p->taps->n; i++)
        for (int64_t t = 0; p->taps->layer[i] == p->layer && t < p->T && !p->status; t++)
            memcpy((float *)p->taps->stream + ((p->first + t) * p->taps->n + i) * C, p->e->slot[TS_SLOT_H] + t * C,
                   (size_t)C * sizeof(float));
}

void ts_engine_layer(ts_piece *p)
{
    const ts_layer *w = &p->e->w->layer[p->layer];
    float **s = p->e->slot;
    int64_t T = p->T, C = p->c->C;
    ts_input x;
    ts_engine_norm_input(p, s[TS_SLOT_H], &w->input_norm, mixer_reads_codes(p->e, w, p->c->full[p->layer]), &x);
    ts_engine_note(p, "input_norm", T, 0, C, s[TS_SLOT_X]);
    if (p->c->full[p->layer])
        full_mixer(p, w, &x);
    else
        linear_mixer(p, w, &x);
    ts_engine_note(p, "mixer", T, 0, C, s[TS_SLOT_BRANCH]);
    ts_engine_op(p, TS_OP_RESIDUAL_ADD, &(ts_zip_args){T * C, s[TS_SLOT_H], s[TS_SLOT_BRANCH], s[TS_SLOT_MID]});
    ts_engine_note(p, "mid", T, 0, C, s[TS_SLOT_MID]);
    bool codes = ts_engine_codes(p->e, &w->gate_proj) && ts_engine_codes(p->e, &w->up_proj);
    ts_engine_norm_input(p, s[TS_SLOT_MID], &w->post_norm, codes, &x);
    ts_engine_note(p, "post_norm", T, 0, C, s[TS_SLOT_X]);
    mlp(p, w, &x);
    ts_engine_op(p, TS_OP_RESIDUAL_ADD, &(ts_zip_args){T * C, s[TS_SLOT_MID], s[TS_SLOT_BRANCH], s[TS_SLOT_H]});
    ts_engine_note(p, "out", T, 0, C, s[TS_SLOT_H]);
    tap_stream(p);
}
