/* One block of full attention, with experts if the model has any, and what joins it to the trunk. */
#include "config/bind_mtp.h"

#include <stdio.h>
#include <stdlib.h>
#include "config/bind_experts.h"
#include "config/names.h"
#include "config/slots.h"

enum { NAME = 256 };

typedef struct {
    ts_binder *b;
    const char *prefix;
    int64_t number;
    ts_weights *head;
} binding;

static void full_name(const binding *m, ts_name_place where, const char *hf, char out[NAME])
{
    if (m->prefix == NULL)
        ts_name_gguf(ts_names_of(&m->head->cfg), where, m->number, hf, out, NAME);
    else
        snprintf(out, NAME, "%s%s%s", m->prefix, where == TS_NAME_LAYER ? "layers.0." : "", hf);
}

static ts_status bind_layer(const binding *m)
{
    const ts_config *c = &m->head->cfg;
    char name[NAME];
    ts_status status = TS_OK;
    const ts_slot *s;
    for (size_t i = 0; (s = ts_slot_at(i)) != NULL && status == TS_OK; i++) {
        void *field = ts_slot_field(m->head, s, 0);
        if (!ts_slot_lies_in(m->head, s, 0))
            continue;
        full_name(m, TS_NAME_LAYER, s->name, name);
        status = s->K != NULL ? ts_bind_matrix(m->b, name, s->N(c), s->K(c), field)
                              : ts_bind_vector(m->b, name, 1, (int64_t[]){s->N(c)}, field);
    }
    full_name(m, TS_NAME_LAYER, "", name);
    return status == TS_OK && c->moe.E > 0 ? ts_bind_experts(m->b, name, &c->moe, c->C, m->head->layer) : status;
}

static ts_status bind_joint(const binding *m)
{
    ts_weights *w = m->head;
    const int64_t C = w->cfg.C;
    const struct {
        const char *name;
        ts_vector *out;
    } norm[] = {{"pre_fc_norm_embedding.weight", &w->embed_norm},
                {"pre_fc_norm_hidden.weight", &w->hidden_norm},
                {"norm.weight", &w->final_norm}};
    char name[NAME];
    full_name(m, TS_NAME_MTP, "fc", name);
    ts_status status = ts_bind_matrix(m->b, name, C, 2 * C, &w->fc);
    for (size_t i = 0; i < sizeof norm / sizeof *norm && status == TS_OK; i++) {
        full_name(m, TS_NAME_MTP, norm[i].name, name);
        status = ts_bind_vector(m->b, name, 1, &C, norm[i].out);
    }
    return status;
}

/* What a GGUF block may have of its own. */
static ts_status bind_own(const binding *m, const char *role, ts_matrix *out)
{
    char name[NAME], weight[NAME + 8];
    snprintf(name, sizeof name, "blk.%lld.nextn.%s", (long long)m->number, role);
    snprintf(weight, sizeof weight, "%s.weight", name);
    if (m->prefix != NULL || ts_checkpoint_find(m->b->ckpt, weight, NULL) == NULL)
        return TS_OK;
    return ts_bind_matrix(m->b, name, m->head->cfg.V, m->head->cfg.C, out);
}

static void take_config(const ts_config *target, ts_config *c)
{
    *c = *target;
    c->draft = TS_DRAFT_MTP;
    c->layers = 1;
    c->full[0] = true;
    c->moe.layer[0] = c->moe.E > 0;
}

ts_status ts_bind_mtp(ts_binder *b, const char *prefix, int64_t number, const ts_weights *target, ts_weights *head)
{
    const binding m = {.b = b, .prefix = prefix, .number = number, .head = head};
    take_config(&target->cfg, &head->cfg);
    head->embed = target->embed;
    head->head = target->head;
    head->layer = calloc(1, sizeof *head->layer);
    if (head->layer == NULL)
        return ts_no_memory(b->err, sizeof *head->layer);
    ts_status status = bind_layer(&m);
    if (status == TS_OK)
        status = bind_joint(&m);
    if (status == TS_OK)
        status = bind_own(&m, "embed_tokens", &head->embed);
    return status == TS_OK ? bind_own(&m, "shared_head_head", &head->head) : status;
}
