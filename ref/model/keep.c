/* What a verification pass needs to be undone in part: of full attention nothing, its rows stay and the position
 * says which of them count; of linear attention its state after every row. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

static int64_t conv_size(const ts_config *c)
{
    return (2 * c->Hk * c->Dk + c->Hv * c->Dv) * c->W;
}

static int64_t recurrent_size(const ts_config *c)
{
    return c->Hv * c->Dk * c->Dv;
}

/* Is this pass one that keeps its rows? */
static bool keeps(const ts_pass *p)
{
    return p->w->T <= p->s->most;
}

void ts_conv_rows(const ts_pass *p, ts_conv1d_args a)
{
    const int64_t T = a.T, n = a.C * a.W;
    if (!keeps(p)) {
        p->m->op.conv(&a);
        return;
    }
    a.T = 1;
    for (int64_t t = 0; t < T; t++, a.x += a.C, a.y += a.C) {
        p->m->op.conv(&a);
        memcpy(p->s->layer[p->layer].kept_conv + t * n, a.state, (size_t)n * sizeof *a.state);
    }
}

void ts_delta_rows(const ts_pass *p, void (*rule)(const ts_gdn_args *a), ts_gdn_args a)
{
    const int64_t T = a.T, n = a.Hv * a.Dk * a.Dv;
    const int64_t gates = p->m->w->cfg.family == TS_FAMILY_KIMI ? a.Hv * a.Dk : a.Hv;
    if (!keeps(p)) {
        rule(&a);
        return;
    }
    a.T = 1;
    for (int64_t t = 0; t < T; t++, a.pos++) {
        rule(&a);
        memcpy(p->s->layer[p->layer].kept_S + t * n, a.state, (size_t)n * sizeof *a.state);
        a.q += a.Hk * a.Dk;
        a.k += a.Hk * a.Dk;
        a.v += a.Hv * a.Dv;
        a.o += a.Hv * a.Dv;
        a.g += gates;
        a.beta += a.Hv;
    }
}

void ts_state_forget(ts_ref_state *s)
{
    s->most = s->kept = 0;
    for (int64_t i = 0; i < s->layers; i++) {
        free(s->layer[i].kept_conv);
        free(s->layer[i].kept_S);
        s->layer[i].kept_conv = s->layer[i].kept_S = NULL;
    }
}

ts_status ts_state_keep(const ts_ref_model *m, ts_ref_state *s, int64_t rows, ts_error *err)
{
    const ts_config *c = &m->w->cfg;
    ts_state_forget(s);
    if (rows < 0)
        return ts_fail(err, TS_BAD, m->w->path, NULL, "%lld rows to keep", (long long)rows);
    for (int64_t i = 0; i < s->layers && rows > 0; i++) {
        ts_layer_state *l = &s->layer[i];
        if (c->full[i])
            continue;
        l->kept_conv = calloc((size_t)rows, (size_t)conv_size(c) * sizeof *l->kept_conv);
        l->kept_S = calloc((size_t)rows, (size_t)recurrent_size(c) * sizeof *l->kept_S);
        if (!l->kept_conv || !l->kept_S) {
            ts_state_forget(s);
            return ts_no_memory(err, (size_t)(rows * recurrent_size(c)) * sizeof *l->kept_S);
        }
    }
    s->most = rows;
    return TS_OK;
}

ts_status ts_state_rewind(const ts_ref_model *m, ts_ref_state *s, int64_t pos, ts_error *err)
{
    const ts_config *c = &m->w->cfg;
    const int64_t row = pos - (s->pos - s->kept) - 1; /* of the last pass, after which the state is wanted */
    if (pos < 0 || pos > s->pos || (pos < s->pos && ts_config_has_linear(c) && row < 0))
        return ts_fail(err, TS_BAD, m->w->path, NULL, "position %lld is not among the %lld rows kept before %lld",
                       (long long)pos, (long long)s->kept, (long long)s->pos);
    for (int64_t i = 0; i < s->layers && pos < s->pos; i++) {
        ts_layer_state *l = &s->layer[i];
        if (c->full[i])
            continue;
        memcpy(l->conv, l->kept_conv + row * conv_size(c), (size_t)conv_size(c) * sizeof *l->conv);
        memcpy(l->S, l->kept_S + row * recurrent_size(c), (size_t)recurrent_size(c) * sizeof *l->S);
    }
    s->kept = s->kept - (s->pos - pos) > 0 ? s->kept - (s->pos - pos) : 0;
    s->pos = pos;
    return TS_OK;
}
