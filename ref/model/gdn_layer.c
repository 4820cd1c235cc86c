#include <math.h>

#include "model.h"
#include "op.h"

/* qkv rows [T,CD] = all q heads, all k heads, all v heads. */
static void split_qkv(const ts_work *b, int64_t KD, int64_t VD)
{
    int64_t CD = 2 * KD + VD;
    for (int64_t t = 0; t < b->T; t++) {
        const ts_real *row = b->conv + t * CD;
        for (int64_t i = 0; i < KD; i++)
            b->q[t * KD + i] = row[i];
        for (int64_t i = 0; i < KD; i++)
            b->k[t * KD + i] = row[KD + i];
        for (int64_t i = 0; i < VD; i++)
            b->v[t * VD + i] = row[2 * KD + i];
    }
}

/* Gated DeltaNet mixer, x[T,C] -> branch[T,C]:
 *   q,k,v = silu(conv(Wqkv x)); q = q/||q|| Dk^-0.5, k = k/||k||
 *   beta = sigmoid(Wb x), g = -exp(A_log) softplus(Wa x + dt_bias)
 *   o = delta rule(q, k, v, g, beta); branch = Wout (norm(o) w silu(Wz x)) */
void ts_gdn_layer(const ts_pass *p)
{
    const ts_config *c = &p->m->w->cfg;
    const ts_layer *w = &p->m->w->layer[p->layer];
    const ts_ref_layer *r = &p->m->layer[p->layer];
    const ts_layer_state *s = &p->s->layer[p->layer];
    const ts_ops *op = &p->m->op;
    ts_work *b = p->w;
    int64_t T = b->T, KD = c->Hk * c->Dk, VD = c->Hv * c->Dv, CD = 2 * KD + VD;

    ts_linear(p, &w->in_qkv, b->x, T, b->qkv);
    ts_note(p, "qkv", b->qkv, T, CD, 0);
    op->conv(
        &(ts_conv1d_args){.T = T, .C = CD, .W = c->W, .x = b->qkv, .w = r->conv, .state = s->conv, .y = b->conv});
    op->store(b->conv, T * CD);
    ts_note(p, "conv", b->conv, T, CD, 0);
    split_qkv(b, KD, VD);
    op->l2norm(&(ts_l2norm_args){
        .T = T, .H = c->Hk, .D = c->Dk, .eps = op->l2_eps, .scale = op->q_scale, .x = b->q, .y = b->q});
    op->l2norm(&(ts_l2norm_args){
        .T = T, .H = c->Hk, .D = c->Dk, .eps = op->l2_eps, .scale = op->k_scale, .x = b->k, .y = b->k});
    ts_note(p, "q", b->q, T, c->Hk, c->Dk);
    ts_note(p, "k", b->k, T, c->Hk, c->Dk);
    ts_note(p, "v", b->v, T, c->Hv, c->Dv);
    ts_linear(p, &w->in_b, b->x, T, b->b);
    ts_linear(p, &w->in_a, b->x, T, b->a);
    op->gates(&(ts_gdn_gates_args){.T = T,
                                   .H = c->Hv,
                                   .a = b->a,
                                   .b = b->b,
                                   .A_log = r->A_log,
                                   .dt_bias = r->dt_bias,
                                   .g = b->g,
                                   .beta = b->beta});
    ts_note(p, "beta", b->beta, T, c->Hv, 0);
    ts_note(p, "g", b->g, T, c->Hv, 0);
    ts_linear(p, &w->in_z, b->x, T, b->z);
    ts_note(p, "z", b->z, T, c->Hv, c->Dv);
    op->gdn(&(ts_gdn_args){.T = T,
                           .Hk = c->Hk,
                           .Hv = c->Hv,
                           .Dk = c->Dk,
                           .Dv = c->Dv,
                           .pos = p->s->pos,
                           .q = b->q,
                           .k = b->k,
                           .v = b->v,
                           .g = b->g,
                           .beta = b->beta,
                           .state = s->S,
                           .o = b->o});
    op->scale_output(&(ts_scale_args){.n = T * VD, .scale = pow((double)c->Dk, -0.5), .x = b->o, .y = b->o});
    op->store(b->o, T * VD);
    ts_note(p, "o", b->o, T, c->Hv, c->Dv);
    op->gated_norm(&(ts_gated_norm_args){
        .T = T, .H = c->Hv, .D = c->Dv, .eps = c->eps, .x = b->o, .w = r->gdn_norm, .z = b->z, .y = b->gated});
    op->store(b->gated, T * VD);
    ts_note(p, "gated", b->gated, T, c->Hv, c->Dv);
    ts_linear(p, &w->out, b->gated, T, b->branch);
}
