#include <stdlib.h>
#include <string.h>

#include "config/draft.h"
#include "model.h"

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The widest intermediate of a dense layer, an expert or the shared one. */
static int64_t intermediate(const ts_config *c)
{
    return max64(c->I, max64(c->moe.I, c->moe.shared));
}

/* The widest input of any linear: what the activation codec must hold. */
static int64_t widest(const ts_config *c)
{
    return max64(max64(ts_draft_joint(c), max64(c->C, intermediate(c))),
                 max64(max64(c->Hv * c->Dv, c->rank), c->Hq * max64(c->D, c->Dm)));
}

ts_status ts_work_new(const ts_ref_model *m, int64_t T, ts_work *w, ts_error *err)
{
    const ts_config *c = &m->w->cfg;
    int64_t KD = c->Hk * c->Dk, VD = c->Hv * c->Dv, CD = 2 * KD + VD, K = widest(c), I = intermediate(c);
    const bool next = c->family == TS_FAMILY_NEXT, kimi = c->family == TS_FAMILY_KIMI;
    const int64_t E = c->moe.E;
    const ts_dflash_config *d = &c->dflash;
    memset(w, 0, sizeof *w);
    w->T = T;
    /* clang-format off */
    const struct {
        ts_real **p;
        int64_t width;
    } buffers[] = {
        {&w->h, c->C}, {&w->x, c->C}, {&w->branch, c->C},
        {&w->qkv, CD}, {&w->conv, CD}, {&w->q, KD}, {&w->k, KD}, {&w->v, VD}, {&w->a, c->Hv}, {&w->b, c->Hv},
        {&w->g, c->Hv}, {&w->beta, c->Hv}, {&w->z, VD}, {&w->o, VD}, {&w->gated, max64(VD, c->Hq * c->D)},
        {&w->qg, 2 * c->Hq * c->D}, {&w->aq, c->Hq * c->D}, {&w->gate, c->Hq * c->D},
        {&w->ak, c->Hkv * c->D}, {&w->av, c->Hkv * c->D}, {&w->attn, c->Hq * max64(c->D, c->Dm)},
        {&w->gate_proj, I}, {&w->up_proj, I}, {&w->act, I},
        {&w->cos, c->R / 2}, {&w->sin, c->R / 2}, {&w->step, K / 8 + 1}, {&w->sum, K / 64 + 1},
        {&w->narrow, K}, {&w->wide_q, c->Hv * c->Dk}, {&w->wide_k, c->Hv * c->Dk},
        {&w->grouped, next ? CD + VD : 0}, {&w->low, kimi ? c->Dk : 0}, {&w->f, kimi ? VD : 0}, {&w->decay, kimi ? VD : 0},
        {&w->latent, c->rank}, {&w->shared_key, c->Dr}, {&w->row, c->rank + c->Dr},
        {&w->router, E}, {&w->weight, E}, {&w->score, c->moe.groups}, {&w->shared, E ? c->C : 0},
        {&w->joint, ts_draft_joint(c)}, {&w->mixed, d->slots ? c->C : 0},
        {&w->delta, d->slots ? 2 * d->conv_taps * (c->C / d->conv_group) : 0},
    };
    /* clang-format on */
    bool ok = true;
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        *buffers[i].p = calloc((size_t)T, (size_t)buffers[i].width * sizeof(ts_real));
        ok &= *buffers[i].p != NULL || buffers[i].width == 0;
    }
    w->expert = calloc((size_t)(E + 1), (size_t)c->C * sizeof *w->expert);
    w->code = calloc((size_t)T, (size_t)(K + K / 4 + 64)); /* or blocks, 1.14 bytes a value */
    w->pos = calloc((size_t)T, sizeof *w->pos);
    w->len = calloc((size_t)T, sizeof *w->len);
    if (ok && w->expert && w->code && w->pos && w->len)
        return TS_OK;
    ts_work_free(w);
    return ts_fail(err, TS_BAD, m->w->path, NULL, "out of memory for a forward pass over %lld tokens",
                   (long long)T);
}

void ts_work_free(ts_work *w)
{
    ts_real *reals[] = {
        w->h,      w->x,      w->branch,     w->qkv,   w->conv,   w->q,         w->k,       w->v,
        w->a,      w->b,      w->g,          w->beta,  w->z,      w->o,         w->gated,   w->qg,
        w->aq,     w->gate,   w->ak,         w->av,    w->attn,   w->gate_proj, w->up_proj, w->act,
        w->cos,    w->sin,    w->step,       w->sum,   w->narrow, w->wide_q,    w->wide_k,  w->grouped,
        w->low,    w->f,      w->decay,      w->row,   w->latent, w->router,    w->weight,  w->score,
        w->expert, w->shared, w->shared_key, w->joint, w->mixed,  w->delta,
    };
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        free(reals[i]);
    free(w->code);
    free(w->pos);
    free(w->len);
}
