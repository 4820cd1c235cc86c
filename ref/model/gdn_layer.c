#include <math.h>
#include <string.h>

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

/* Qwen3-Next's projections are rows by key head: q, k, the v and the z of its value heads. */
static void project_grouped(const ts_pass *p)
{
    const ts_config *c = &p->m->w->cfg;
    const ts_layer *w = &p->m->w->layer[p->layer];
    ts_work *b = p->w;
    const int64_t r = c->Hv / c->Hk, KD = c->Hk * c->Dk, VD = c->Hv * c->Dv, V = r * c->Dv,
                  width = 2 * c->Dk + 2 * V;
    ts_linear(p, &w->in_qkvz, b->x, b->T, b->grouped);
    for (int64_t t = 0; t < b->T; t++)
        for (int64_t g = 0; g < c->Hk; g++) {
            const ts_real *from = b->grouped + t * (2 * KD + 2 * VD) + g * width;
            ts_real *qkv = b->qkv + t * (2 * KD + VD);
            memcpy(qkv + g * c->Dk, from, (size_t)c->Dk * sizeof *from);
            memcpy(qkv + KD + g * c->Dk, from + c->Dk, (size_t)c->Dk * sizeof *from);
            memcpy(qkv + 2 * KD + g * V, from + 2 * c->Dk, (size_t)V * sizeof *from);
            memcpy(b->z + t * VD + g * V, from + 2 * c->Dk + V, (size_t)V * sizeof *from);
        }
}

/* And b and a of them. */
static void project_pairs(const ts_pass *p)
{
    const ts_config *c = &p->m->w->cfg;
    const ts_work *b = p->w;
    const int64_t r = c->Hv / c->Hk;
    ts_linear(p, &p->m->w->layer[p->layer].in_ba, b->x, b->T, b->grouped);
    for (int64_t th = 0; th < b->T * c->Hv; th++) {
        const ts_real *from = b->grouped + th / r * 2 * r;
        b->b[th] = from[th % r];
        b->a[th] = from[r + th % r];
    }
}

/* x -> qkv, z, b, a */
static void project(const ts_pass *p)
{
    const ts_layer *w = &p->m->w->layer[p->layer];
    ts_work *b = p->w;
    const bool next = p->m->w->cfg.family == TS_FAMILY_NEXT;
    if (next && !p->m->w->split) {
        project_grouped(p);
    } else {
        ts_linear(p, &w->in_qkv, b->x, b->T, b->qkv);
        ts_linear(p, &w->in_z, b->x, b->T, b->z);
    }
    if (next) {
        project_pairs(p);
    } else {
        ts_linear(p, &w->in_b, b->x, b->T, b->b);
        ts_linear(p, &w->in_a, b->x, b->T, b->a);
    }
}

/* Tiled value heads (GGUF): head h reads key head h % Hk. Rows of queries and keys are laid out a value head each.
 */
static void spread_heads(const ts_work *b, const ts_config *c, const ts_real *from, ts_real *to)
{
    for (int64_t t = 0; t < b->T; t++)
        for (int64_t h = 0; h < c->Hv; h++)
            for (int64_t i = 0; i < c->Dk; i++)
                to[(t * c->Hv + h) * c->Dk + i] = from[(t * c->Hk + h % c->Hk) * c->Dk + i];
}

/* The delta rule over b->q, k, v, g and beta. */
static void recur(const ts_pass *p)
{
    const ts_config *c = &p->m->w->cfg;
    const ts_work *b = p->w;
    ts_gdn_args a = {.T = b->T,
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
                     .state = p->s->layer[p->layer].S,
                     .o = b->o};
    if (p->m->w->tiled) {
        spread_heads(b, c, b->q, b->wide_q);
        spread_heads(b, c, b->k, b->wide_k);
        a.Hk = c->Hv;
        a.q = b->wide_q;
        a.k = b->wide_k;
    }
    ts_delta_rows(p, p->m->op.gdn, a);
}

/* g = -softplus so far: times the rate that the file holds. */
static void apply_rate(const ts_pass *p)
{
    const ts_config *c = &p->m->w->cfg;
    const ts_real *rate = p->m->layer[p->layer].rate;
    for (int64_t i = 0; rate && i < p->w->T * c->Hv; i++)
        ts_scale(&(ts_scale_args){.n = 1, .scale = -(double)rate[i % c->Hv], .x = &p->w->g[i], .y = &p->w->g[i]});
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

    project(p);
    ts_note(p, "qkv", b->qkv, T, CD, 0);
    ts_conv_rows(
        p, (ts_conv1d_args){.T = T, .C = CD, .W = c->W, .x = b->qkv, .w = r->conv, .state = s->conv, .y = b->conv});
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
    op->gates(&(ts_gdn_gates_args){.T = T,
                                   .H = c->Hv,
                                   .a = b->a,
                                   .b = b->b,
                                   .A_log = r->A_log,
                                   .dt_bias = r->dt_bias,
                                   .g = b->g,
                                   .beta = b->beta});
    apply_rate(p);
    ts_note(p, "beta", b->beta, T, c->Hv, 0);
    ts_note(p, "g", b->g, T, c->Hv, 0);
    ts_note(p, "z", b->z, T, c->Hv, c->Dv);
    recur(p);
    op->scale_output(&(ts_scale_args){.n = T * VD, .scale = pow((double)c->Dk, -0.5), .x = b->o, .y = b->o});
    op->store(b->o, T * VD);
    ts_note(p, "o", b->o, T, c->Hv, c->Dv);
    op->gated_norm(&(ts_gated_norm_args){
        .T = T, .H = c->Hv, .D = c->Dv, .eps = c->eps, .x = b->o, .w = r->gdn_norm, .z = b->z, .y = b->gated});
    op->store(b->gated, T * VD);
    ts_note(p, "gated", b->gated, T, c->Hv, c->Dv);
    ts_linear(p, &w->out, b->gated, T, b->branch);
}
