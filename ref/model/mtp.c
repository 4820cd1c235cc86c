/* The head of multi-token prediction (Qwen3-Next, 3.5, 3.6, 3.8). */
#include <string.h>

#include "model.h"
#include "op.h"

/* norm(from) * weight -> channels at.. of the joint rows. */
static void lay_half(const ts_pass *p, const ts_real *weight, int64_t at)
{
    const int64_t C = p->m->w->cfg.C;
    ts_norm_stream(p, weight);
    for (int64_t t = 0; t < p->w->T; t++)
        memcpy(p->w->joint + t * 2 * C + at, p->w->x + t * C, (size_t)C * sizeof *p->w->x);
}

/* h = fc [norm(embed(id)), norm(hidden)]: the embedding first. */
static void join(const ts_pass *p, const int32_t *ids, const ts_real *hidden)
{
    const ts_weights *w = p->m->w;
    const int64_t T = p->w->T, C = w->cfg.C;
    ts_embed(&(ts_embed_args){.T = T, .V = w->cfg.V, .C = C, .id = ids, .w = &w->embed, .y = p->w->h});
    p->m->op.store(p->w->h, T * C);
    lay_half(p, p->m->embed_norm, 0);
    memcpy(p->w->h, hidden, (size_t)(T * C) * sizeof *hidden);
    lay_half(p, p->m->hidden_norm, C);
    ts_linear(p, &w->fc, p->w->joint, T, p->w->h);
}

/* Row t pairs the token ids[t] with the hidden state before it:
 *   h = fc [norm(embed(id)) , norm(hidden)]; h = layer(h), one of full attention with its own cache
 *   out = norm(h); logits = head(out), the target's
 * hidden [T,C]: of a committed row the trunk's after its final norm, of a drafted one the `out` of the row before.
 * Row p, of tokens p and p + 1, is at position p and predicts token p + 2. Roundings: those of a layer. */
ts_status ts_mtp_rows(const ts_ref_model *m, ts_ref_state *s, const int32_t *ids, const void *hidden, int64_t T,
                      void *logits, void *out, ts_error *err)
{
    ts_work w;
    ts_status status = ts_check_room(m, s, T, err);
    if (!status)
        status = ts_check_ids(m, ids, T, err);
    if (!status)
        status = ts_work_new(m, T, &w, err);
    if (status)
        return status;
    const ts_taps taps = {.hidden = out};
    ts_pass p = {.m = m, .s = s, .w = &w, .taps = &taps};
    ts_positions(&p);
    join(&p, ids, hidden);
    ts_layer_pass(&p);
    ts_head(&p, 1, logits);
    s->pos += T;
    ts_work_free(&w);
    return TS_OK;
}
