#include "model.h"

#include <stdlib.h>

static ts_real *widen(const ts_vector *v, bool *ok)
{
    if (v->n == 0)
        return NULL;
    ts_real *y = malloc((size_t)v->n * sizeof *y);
    *ok &= y != NULL;
    for (int64_t i = 0; y && i < v->n; i++)
        y[i] = (ts_real)v->v[i];
    return y;
}

/* A_log; or where the file holds -exp(A_log), zeros and that: exp(0) = 1 leaves the product to ts_gdn_layer. */
static void widen_decay(const ts_vector *v, bool rate, ts_ref_layer *to, bool *ok)
{
    to->A_log = widen(v, ok);
    to->rate = rate ? widen(v, ok) : NULL;
    for (int64_t i = 0; rate && *ok && i < v->n; i++)
        to->A_log[i] = 0;
}

static bool widen_layer(const ts_layer *from, bool rate, ts_ref_layer *to)
{
    bool ok = true;
    to->input_norm = widen(&from->input_norm, &ok);
    to->post_norm = widen(&from->post_norm, &ok);
    to->conv = widen(&from->conv, &ok);
    widen_decay(&from->A_log, rate, to, &ok);
    to->dt_bias = widen(&from->dt_bias, &ok);
    to->gdn_norm = widen(&from->gdn_norm, &ok);
    to->q_norm = widen(&from->q_norm, &ok);
    to->k_norm = widen(&from->k_norm, &ok);
    to->kv_a_norm = widen(&from->kv_a_norm, &ok);
    to->router_bias = widen(&from->router_bias, &ok);
    to->attn_conv = widen(&from->attn_conv, &ok);
    to->mlp_conv = widen(&from->mlp_conv, &ok);
    return ok;
}

/* The other choices replay engines on dense models; what those do here has not been compared. */
static ts_status check_profile(const ts_weights *w, const ts_profile *p, ts_error *err)
{
    if (ts_profile_is_house(p) || (w->cfg.moe.E == 0 && w->cfg.family != TS_FAMILY_KIMI))
        return TS_OK;
    return ts_fail(err, TS_BAD, w->path, NULL,
                   "profile %s is not defined for %s; ts and exact are, with any KV cache", p->name,
                   w->cfg.model_type);
}

ts_status ts_model_new(const ts_weights *w, const ts_profile *p, ts_ref_model **out, ts_error *err)
{
    const ts_config *c = &w->cfg;
    ts_status status = check_profile(w, p, err);
    if (status)
        return status;
    ts_ref_model *m = calloc(1, sizeof *m);
    if (!m)
        return ts_no_memory(err, sizeof *m);
    m->w = w;
    m->profile = p;
    m->op = ts_ops_of(p, c->Dk);
    bool ok = true;
    m->final_norm = widen(&w->final_norm, &ok);
    m->embed_norm = widen(&w->embed_norm, &ok);
    m->hidden_norm = widen(&w->hidden_norm, &ok);
    m->layer = calloc((size_t)c->layers, sizeof *m->layer);
    m->freq = malloc((size_t)(c->R / 2 + 1) * sizeof *m->freq);
    ok &= m->layer && m->freq;
    for (int64_t i = 0; ok && i < c->layers; i++)
        ok = widen_layer(&w->layer[i], w->rate, &m->layer[i]);
    if (!ok) {
        ts_model_free(m);
        return ts_fail(err, TS_BAD, w->path, NULL, "out of memory for the model's parameters");
    }
    m->op.freq(c->theta, c->R, m->freq);
    *out = m;
    return TS_OK;
}

static void free_layer(ts_ref_layer *l)
{
    free(l->input_norm);
    free(l->post_norm);
    free(l->conv);
    free(l->A_log);
    free(l->rate);
    free(l->dt_bias);
    free(l->gdn_norm);
    free(l->q_norm);
    free(l->k_norm);
    free(l->kv_a_norm);
    free(l->router_bias);
    free(l->attn_conv);
    free(l->mlp_conv);
}

void ts_model_free(ts_ref_model *m)
{
    if (!m)
        return;
    for (int64_t i = 0; m->layer && i < m->w->cfg.layers; i++)
        free_layer(&m->layer[i]);
    free(m->layer);
    free(m->final_norm);
    free(m->embed_norm);
    free(m->hidden_norm);
    free(m->freq);
    free(m);
}
