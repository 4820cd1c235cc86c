#include "model.h"
#include "op.h"

static void route(const ts_pass *p)
{
    const ts_moe_config *m = &p->m->w->cfg.moe;
    ts_work *b = p->w;
    ts_linear(p, &p->m->w->layer[p->layer].router, b->x, b->T, b->router);
    ts_note(p, "router", b->router, b->T, m->E, 0);
    (m->sigmoid ? ts_moe_router_sigmoid
                : ts_moe_router_softmax)(&(ts_moe_router_args){.T = b->T,
                                                               .E = m->E,
                                                               .k = m->k,
                                                               .renorm = m->renorm,
                                                               .groups = m->groups,
                                                               .topk_groups = m->topk_groups,
                                                               .scale = m->scale,
                                                               .logits = b->router,
                                                               .bias = p->m->layer[p->layer].router_bias,
                                                               .weight = b->weight,
                                                               .score = b->score});
    ts_note(p, "expert_weight", b->weight, b->T, m->E, 0);
}

/* The experts that token t has, each alone: one row. */
static void experts(const ts_pass *p, int64_t t)
{
    const ts_layer *w = &p->m->w->layer[p->layer];
    ts_work *b = p->w;
    const int64_t E = p->m->w->cfg.moe.E, C = p->m->w->cfg.C;
    const ts_real *weight = b->weight + t * E;
    for (int64_t e = 0; e < E; e++)
        if (weight[e] != 0)
            ts_mlp(p, &w->expert_gate[e], &w->expert_up[e], &w->expert_down[e], b->x + t * C, 1, b->expert + e * C);
    ts_moe_accumulate(&(ts_moe_accumulate_args){
        .T = 1, .E = E, .C = C, .weight = weight, .x = b->expert, .y = b->branch + t * C});
}

/* branch += the shared expert's output, times sigmoid(gate x) where there is a gate. */
static void add_shared(const ts_pass *p)
{
    const ts_layer *w = &p->m->w->layer[p->layer];
    ts_work *b = p->w;
    const int64_t T = b->T, C = p->m->w->cfg.C;
    ts_mlp(p, &w->shared_gate_proj, &w->shared_up_proj, &w->shared_down_proj, b->x, T, b->shared);
    if (w->shared_gate.N) {
        ts_linear(p, &w->shared_gate, b->x, T, b->score);
        ts_row_gate(&(ts_row_gate_args){.T = T, .C = C, .x = b->shared, .gate = b->score, .y = b->shared});
    }
    ts_note(p, "shared", b->shared, T, C, 0);
    ts_residual_add(&(ts_zip_args){.n = T * C, .a = b->branch, .b = b->shared, .y = b->branch});
}

/* Experts, x[T,C] -> branch[T,C]:
 *   weight = router(Wr x); branch = sum_e weight_e mlp_e(x), ascending by id, + the shared expert */
void ts_moe_layer(const ts_pass *p)
{
    route(p);
    for (int64_t t = 0; t < p->w->T; t++)
        experts(p, t);
    ts_note(p, "experts", p->w->branch, p->w->T, p->m->w->cfg.C, 0);
    if (p->m->w->cfg.moe.shared > 0)
        add_shared(p);
}
