/* Undoing a part of a forward. Full attention needs nothing, the position says which rows count. Of linear
 * attention the state before the pass is kept, and what the convolution and the delta rule read: running the rows
 * that stay once more from there gives the same bits as having run no others. */
#include <stdlib.h>
#include <string.h>

#include "engine_internal.h"

struct ts_engine_kept {
    float *conv, *recurrent;     /* before the pass */
    float *qkv;                  /* [most,CD] */
    float *q, *k, *v, *g, *beta; /* [most,..] */
};

/* What a row holds, in floats. */
typedef struct {
    int64_t CD, KD, VD, S;
} sizes;

static sizes sizes_of(const ts_config *c)
{
    const int64_t KD = c->Hk * c->Dk, VD = c->Hv * c->Dv;
    return (sizes){.CD = 2 * KD + VD, .KD = KD, .VD = VD, .S = c->Hv * c->Dk * c->Dv};
}

static void copy(float *to, const float *from, int64_t n)
{
    memcpy(to, from, (size_t)n * sizeof *to);
}

bool ts_engine_keeps(const ts_piece *p)
{
    return p->T <= p->e->most;
}

void ts_engine_keep_before(ts_piece *p)
{
    const ts_engine_state *s = &p->e->state[p->layer];
    const sizes n = sizes_of(p->c);
    if (!ts_engine_keeps(p))
        return;
    copy(s->kept->conv, s->conv, n.CD * p->c->W);
    copy(s->kept->recurrent, s->recurrent, n.S);
}

void ts_engine_keep_inputs(ts_piece *p)
{
    if (ts_engine_keeps(p))
        copy(p->e->state[p->layer].kept->qkv, p->e->slot[TS_SLOT_WIDE], p->T * sizes_of(p->c).CD);
}

void ts_engine_keep_rows(ts_piece *p)
{
    const struct ts_engine_kept *x = p->e->state[p->layer].kept;
    float **s = p->e->slot;
    const sizes n = sizes_of(p->c);
    if (!ts_engine_keeps(p))
        return;
    copy(x->q, s[TS_SLOT_Q], p->T * n.KD);
    copy(x->k, s[TS_SLOT_K], p->T * n.KD);
    copy(x->v, s[TS_SLOT_V], p->T * n.VD);
    copy(x->g, s[TS_SLOT_G], p->T * p->c->Hv);
    copy(x->beta, s[TS_SLOT_BETA], p->T * p->c->Hv);
}

void ts_engine_forget(ts_engine *e)
{
    e->most = e->kept = 0;
    for (int64_t i = 0; e->state && i < e->w->cfg.layers; i++) {
        struct ts_engine_kept *x = e->state[i].kept;
        if (!x)
            continue;
        float *const buffer[] = {x->conv, x->recurrent, x->qkv, x->q, x->k, x->v, x->g, x->beta};
        for (size_t b = 0; b < sizeof buffer / sizeof *buffer; b++)
            free(buffer[b]);
        free(x);
        e->state[i].kept = NULL;
    }
}

static ts_status keep_layer(ts_engine *e, int64_t layer, int64_t rows, ts_error *err)
{
    const ts_config *c = &e->w->cfg;
    const sizes n = sizes_of(c);
    struct ts_engine_kept *x = e->state[layer].kept = ts_engine_alloc(1, 1, sizeof *x, err);
    if (!x)
        return TS_BAD;
    const struct {
        float **to;
        int64_t rows, width;
    } buffer[] = {{&x->conv, n.CD, c->W}, {&x->recurrent, n.S, 1}, {&x->qkv, rows, n.CD}, {&x->q, rows, n.KD},
                  {&x->k, rows, n.KD},    {&x->v, rows, n.VD},     {&x->g, rows, c->Hv},  {&x->beta, rows, c->Hv}};
    for (size_t b = 0; b < sizeof buffer / sizeof *buffer; b++) {
        *buffer[b].to = ts_engine_alloc(buffer[b].rows, buffer[b].width, sizeof(float), err);
        if (!*buffer[b].to)
            return TS_BAD;
    }
    return TS_OK;
}

ts_status ts_engine_keep(ts_engine *e, int64_t rows, ts_error *err)
{
    const ts_config *c = &e->w->cfg;
    ts_engine_forget(e);
    if (rows < 0 || rows > TS_PIECE)
        return ts_fail(err, TS_BAD, e->w->path, NULL, "%lld rows to keep, not 0..%d", (long long)rows, TS_PIECE);
    for (int64_t i = 0; i < c->layers && rows > 0; i++)
        if (!c->full[i] && keep_layer(e, i, rows, err) != TS_OK) {
            ts_engine_forget(e);
            return TS_BAD;
        }
    e->most = rows;
    return TS_OK;
}

/* conv = the last W inputs of what it was and m rows more. */
static void slide(float *conv, const struct ts_engine_kept *x, int64_t CD, int64_t W, int64_t m)
{
    for (int64_t c = 0; c < CD; c++)
        for (int64_t w = 0; w < W; w++) {
            const int64_t from = m + w; /* of the old window, then the rows */
            conv[c * W + w] = from < W ? x->conv[c * W + from] : x->qkv[(from - W) * CD + c];
        }
}

static void rerun(ts_piece *p, int64_t m)
{
    const ts_config *c = p->c;
    ts_engine_state *s = &p->e->state[p->layer];
    const struct ts_engine_kept *x = s->kept;
    const sizes n = sizes_of(c);
    slide(s->conv, x, n.CD, c->W, m);
    copy(s->recurrent, x->recurrent, n.S);
    ts_engine_op(p, TS_OP_GDN_STEP,
                 &(ts_gdn_args){.T = m,
                                .Hk = c->Hk,
                                .Hv = c->Hv,
                                .Dk = c->Dk,
                                .Dv = c->Dv,
                                .pos = p->e->pos - p->e->kept,
                                .q = x->q,
                                .k = x->k,
                                .v = x->v,
                                .g = x->g,
                                .beta = x->beta,
                                .state = s->recurrent,
                                .o = p->e->slot[TS_SLOT_O]});
}

ts_status ts_engine_rewind(ts_engine *e, int64_t pos, ts_error *err)
{
    ts_piece p = {.e = e, .c = &e->w->cfg, .layer = -1, .err = err};
    const int64_t m = pos - (e->pos - e->kept); /* rows of the last pass that stay */
    if (pos < 0 || pos > e->pos || (pos < e->pos && ts_config_has_linear(p.c) && m < 1))
        return ts_fail(err, TS_BAD, e->w->path, NULL, "position %lld is not among the %lld rows kept before %lld",
                       (long long)pos, (long long)e->kept, (long long)e->pos);
    for (p.layer = 0; p.layer < p.c->layers && pos < e->pos; p.layer++)
        if (!p.c->full[p.layer])
            rerun(&p, m);
    if (p.status)
        return p.status;
    e->kept = m > 0 ? m : 0;
    e->pos = pos;
    return TS_OK;
}
