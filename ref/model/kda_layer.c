#include <string.h>

#include "model.h"
#include "op.h"

/* Queries, keys and values: three projections, one convolution over the three side by side, then apart again. */
static void mix_tokens(const ts_pass *p, int64_t P)
{
    const ts_layer *w = &p->m->w->layer[p->layer];
    const ts_ref_layer *r = &p->m->layer[p->layer];
    const ts_matrix *const from[3] = {&w->q_proj, &w->k_proj, &w->v_proj};
    ts_work *b = p->w;
    ts_real *const to[3] = {b->q, b->k, b->v};
    const size_t row = (size_t)P * sizeof(ts_real);
    for (int i = 0; i < 3; i++) {
        ts_linear(p, from[i], b->x, b->T, to[i]);
        for (int64_t t = 0; t < b->T; t++)
            memcpy(b->qkv + (3 * t + i) * P, to[i] + t * P, row);
    }
    ts_note(p, "qkv", b->qkv, b->T, 3 * P, 0);
    ts_conv_rows(p, (ts_conv1d_args){.T = b->T,
                                     .C = 3 * P,
                                     .W = p->m->w->cfg.W,
                                     .x = b->qkv,
                                     .w = r->conv,
                                     .state = p->s->layer[p->layer].conv,
                                     .y = b->conv});
    ts_note(p, "conv", b->conv, b->T, 3 * P, 0);
    for (int i = 0; i < 3; i++)
        for (int64_t t = 0; t < b->T; t++)
            memcpy(to[i] + t * P, b->conv + (3 * t + i) * P, row);
}

/* decay = -softplus so far: times the rate that a GGUF file holds. */
static void apply_rate(const ts_pass *p)
{
    const ts_config *c = &p->m->w->cfg;
    const ts_real *rate = p->m->layer[p->layer].rate;
    for (int64_t i = 0; rate && i < p->w->T * c->Hv; i++) {
        ts_real *decay = p->w->decay + i * c->Dk;
        ts_scale(&(ts_scale_args){.n = c->Dk, .scale = -(double)rate[i % c->Hv], .x = decay, .y = decay});
    }
}

static void gates(const ts_pass *p)
{
    const ts_config *c = &p->m->w->cfg;
    const ts_layer *w = &p->m->w->layer[p->layer];
    const ts_ref_layer *r = &p->m->layer[p->layer];
    ts_work *b = p->w;
    ts_linear(p, &w->f_a, b->x, b->T, b->low);
    ts_linear(p, &w->f_b, b->low, b->T, b->f);
    ts_linear(p, &w->in_b, b->x, b->T, b->b);
    (c->lower_bound < 0 ? ts_kda_gates_bounded : ts_kda_gates)(&(ts_kda_gates_args){.T = b->T,
                                                                                    .H = c->Hv,
                                                                                    .D = c->Dk,
                                                                                    .beta_scale = 1,
                                                                                    .lower_bound = c->lower_bound,
                                                                                    .f = b->f,
                                                                                    .b = b->b,
                                                                                    .A_log = r->A_log,
                                                                                    .dt_bias = r->dt_bias,
                                                                                    .g = b->decay,
                                                                                    .beta = b->beta});
    apply_rate(p);
    ts_note(p, "beta", b->beta, b->T, c->Hv, 0);
    ts_note(p, "g", b->decay, b->T, c->Hv, c->Dk);
    ts_linear(p, &w->g_a, b->x, b->T, b->low);
    ts_linear(p, &w->g_b, b->low, b->T, b->z);
    ts_note(p, "z", b->z, b->T, c->Hv, c->Dv);
}

static void normalise(const ts_pass *p, ts_real *x, double scale, const char *name)
{
    const ts_config *c = &p->m->w->cfg;
    const ts_ops *op = &p->m->op;
    op->l2norm(
        &(ts_l2norm_args){.T = p->w->T, .H = c->Hk, .D = c->Dk, .eps = op->l2_eps, .scale = scale, .x = x, .y = x});
    ts_note(p, name, x, p->w->T, c->Hk, c->Dk);
}

/* Kimi Delta Attention, x[T,C] -> branch[T,C]:
 *   q, k, v = conv(Wq x), conv(Wk x), conv(Wv x); q, k normalised, q scaled
 *   beta = sigmoid(Wb x), g = -exp(A_log) softplus(Wf2 Wf1 x + dt_bias) per key channel, or bounded
 *   o = delta rule; branch = Wo (norm(o) w sigmoid(Wg2 Wg1 x)) */
void ts_kda_layer(const ts_pass *p)
{
    const ts_config *c = &p->m->w->cfg;
    const ts_ops *op = &p->m->op;
    ts_work *b = p->w;
    mix_tokens(p, c->Hk * c->Dk);
    normalise(p, b->q, op->q_scale, "q");
    normalise(p, b->k, op->k_scale, "k");
    ts_note(p, "v", b->v, b->T, c->Hv, c->Dv);
    gates(p);
    ts_delta_rows(p, ts_kda_step,
                  (ts_gdn_args){.T = b->T,
                                .Hk = c->Hk,
                                .Hv = c->Hv,
                                .Dk = c->Dk,
                                .Dv = c->Dv,
                                .pos = p->s->pos,
                                .q = b->q,
                                .k = b->k,
                                .v = b->v,
                                .g = b->decay,
                                .beta = b->beta,
                                .state = p->s->layer[p->layer].S,
                                .o = b->o});
    ts_note(p, "o", b->o, b->T, c->Hv, c->Dv);
    ts_gated_norm_sigmoid(&(ts_gated_norm_args){.T = b->T,
                                                .H = c->Hv,
                                                .D = c->Dv,
                                                .eps = c->eps,
                                                .x = b->o,
                                                .w = p->m->layer[p->layer].gdn_norm,
                                                .z = b->z,
                                                .y = b->gated});
    ts_note(p, "gated", b->gated, b->T, c->Hv, c->Dv);
    ts_linear(p, &p->m->w->layer[p->layer].out, b->gated, b->T, b->branch);
}
