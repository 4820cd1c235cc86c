#include <math.h>

#include "model.h"
#include "op.h"

/* q_proj's output is per head: D of query, then D of gate of the same head. Splitting the flat row in
 * half looks plausible and is wrong. */
static void split_query_gate(const ts_work *b, int64_t Hq, int64_t D)
{
    for (int64_t th = 0; th < b->T * Hq; th++)
        for (int64_t i = 0; i < D; i++) {
            b->aq[th * D + i] = b->qg[th * 2 * D + i];
            b->gate[th * D + i] = b->qg[th * 2 * D + D + i];
        }
}

void ts_norm_and_rotate(const ts_pass *p, ts_real *x, const ts_real *norm, int64_t H)
{
    const ts_config *c = &p->m->w->cfg;
    const ts_ops *op = &p->m->op;
    const ts_work *b = p->w;
    op->norm(&(ts_rmsnorm_args){
        .T = b->T * H, .n = c->D, .centred = !p->m->w->folded, .eps = c->eps, .x = x, .w = norm, .y = x});
    op->store(x, b->T * H * c->D);
    op->rotate(
        &(ts_rope_args){.T = b->T, .H = H, .D = c->D, .R = c->R, .x = x, .cos = b->cos, .sin = b->sin, .y = x});
    op->store(x, b->T * H * c->D);
}

/* Gated full attention, x[T,C] -> branch[T,C]:
 *   q, k = rope(norm(W x)), v = Wv x; o = softmax(q k^T D^-0.5) v over keys j <= position
 *   branch = Wo (o * sigmoid(gate)) */
void ts_attention_layer(const ts_pass *p)
{
    const ts_config *c = &p->m->w->cfg;
    const ts_layer *w = &p->m->w->layer[p->layer];
    const ts_ref_layer *r = &p->m->layer[p->layer];
    const ts_kv *kv = &p->s->layer[p->layer].kv;
    ts_work *b = p->w;
    int64_t T = b->T, pos = p->s->pos;

    ts_linear(p, &w->q_proj, b->x, T, b->qg);
    ts_linear(p, &w->k_proj, b->x, T, b->ak);
    ts_linear(p, &w->v_proj, b->x, T, b->av);
    split_query_gate(b, c->Hq, c->D);
    ts_norm_and_rotate(p, b->aq, r->q_norm, c->Hq);
    ts_norm_and_rotate(p, b->ak, r->k_norm, c->Hkv);
    ts_note(p, "q", b->aq, T, c->Hq, c->D);
    ts_note(p, "gate", b->gate, T, c->Hq, c->D);
    ts_note(p, "k", b->ak, T, c->Hkv, c->D);
    ts_note(p, "v", b->av, T, c->Hkv, c->D);
    ts_kv_store(
        &(ts_kv_store_args){.T = T, .Hkv = c->Hkv, .D = c->D, .pos = pos, .k = b->ak, .v = b->av, .kv = *kv});
    p->m->op.attention(&(ts_attention_args){.T = T,
                                            .Hq = c->Hq,
                                            .Hkv = c->Hkv,
                                            .D = c->D,
                                            .parts = (pos + T + TS_PARTITION - 1) / TS_PARTITION,
                                            .scale = pow((double)c->D, -0.5),
                                            .q = b->aq,
                                            .pos = b->pos,
                                            .len = b->len,
                                            .kv = *kv,
                                            .o = b->attn});
    p->m->op.store(b->attn, T * c->Hq * c->D);
    ts_note(p, "attn", b->attn, T, c->Hq, c->D);
    p->m->op.gate(&(ts_zip_args){.n = T * c->Hq * c->D, .a = b->attn, .b = b->gate, .y = b->gated});
    p->m->op.store(b->gated, T * c->Hq * c->D);
    ts_note(p, "gated", b->gated, T, c->Hq, c->D);
    ts_linear(p, &w->o_proj, b->gated, T, b->branch);
}
