#include <math.h>
#include <string.h>

#include "model.h"
#include "op.h"

/* Kimi builds this norm without handing its eps on, so it has the class's own, not the config's. */
static const double KV_A_EPS = 1e-6;

/* What the cache keeps of a token: the normalised latent, then the part of the key that all heads share. */
static void compress(const ts_pass *p)
{
    const ts_config *c = &p->m->w->cfg;
    ts_work *b = p->w;
    const int64_t R = c->rank, Dr = c->Dr, width = R + Dr;
    ts_linear(p, &p->m->w->layer[p->layer].kv_a, b->x, b->T, b->row);
    for (int64_t t = 0; t < b->T; t++) {
        memcpy(b->latent + t * R, b->row + t * width, (size_t)R * sizeof(ts_real));
        memcpy(b->shared_key + t * Dr, b->row + t * width + R, (size_t)Dr * sizeof(ts_real));
    }
    p->m->op.norm(&(ts_rmsnorm_args){
        .T = b->T, .n = R, .eps = KV_A_EPS, .x = b->latent, .w = p->m->layer[p->layer].kv_a_norm, .y = b->latent});
    ts_note(p, "latent", b->latent, b->T, R, 0);
    ts_note(p, "shared_key", b->shared_key, b->T, Dr, 0);
    for (int64_t t = 0; t < b->T; t++)
        memcpy(b->row + t * width, b->latent + t * R, (size_t)R * sizeof(ts_real));
}

/* Latent attention without rotation, x[T,C] -> branch[T,C]:
 *   latent, kr = norm(Wa x), the last Dr of Wa x; q = Wq x
 *   per head k_j = [Wk latent_j | kr_j], v_j = Wv latent_j
 *   branch = Wo softmax(q k^T (Dn+Dr)^-0.5) v over keys j <= position */
void ts_mla_layer(const ts_pass *p)
{
    const ts_config *c = &p->m->w->cfg;
    const ts_layer *w = &p->m->w->layer[p->layer];
    const ts_kv *kv = &p->s->layer[p->layer].kv;
    ts_work *b = p->w;
    const int64_t T = b->T, pos = p->s->pos, width = c->rank + c->Dr;
    ts_linear(p, &w->q_proj, b->x, T, b->aq);
    ts_note(p, "q", b->aq, T, c->Hq, c->D);
    compress(p);
    ts_kv_store(&(ts_kv_store_args){.T = T, .Hkv = 1, .D = width, .pos = pos, .k = b->row, .v = b->row, .kv = *kv});
    ts_mla_attention(&(ts_mla_args){.T = T,
                                    .H = c->Hq,
                                    .Dn = c->Dn,
                                    .Dr = c->Dr,
                                    .Dv = c->Dm,
                                    .R = c->rank,
                                    .parts = (pos + T + TS_PARTITION - 1) / TS_PARTITION,
                                    .scale = pow((double)c->D, -0.5),
                                    .q = b->aq,
                                    .pos = b->pos,
                                    .len = b->len,
                                    .kv = *kv,
                                    .w = &w->kv_b,
                                    .o = b->attn});
    ts_note(p, "attn", b->attn, T, c->Hq, c->Dm);
    ts_linear(p, &w->o_proj, b->attn, T, b->branch);
}
