/* A DFlash drafter's tensors. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "config/bind.h"
#include "config/draft.h"

enum { NAME = 128, PATH = 4096 };

typedef struct {
    ts_binder b;
    ts_weights *w;
} loader;

/* Everything but the kernels; N, K: what read_size knows. K 0: a vector. */
typedef struct {
    const char *name; /* of a matrix without ".weight" */
    size_t offset;    /* in ts_layer, or in ts_weights */
    char N, K;
    bool second; /* of version 2 only */
} slot;

#define LAYER(field, name, N, K, second)              \
    {                                                 \
        name, offsetof(ts_layer, field), N, K, second \
    }
#define END(field, name, N, K, second)                  \
    {                                                   \
        name, offsetof(ts_weights, field), N, K, second \
    }

static const slot layer_slots[] = {
    LAYER(input_norm, "input_layernorm.weight", 'C', 0, false),
    LAYER(post_norm, "post_attention_layernorm.weight", 'C', 0, false),
    LAYER(q_norm, "self_attn.q_norm.weight", 'D', 0, false),
    LAYER(k_norm, "self_attn.k_norm.weight", 'D', 0, false),
    LAYER(q_proj, "self_attn.q_proj", 'Q', 'C', false),
    LAYER(k_proj, "self_attn.k_proj", 'K', 'C', false),
    LAYER(v_proj, "self_attn.v_proj", 'K', 'C', false),
    LAYER(o_proj, "self_attn.o_proj", 'C', 'Q', false),
    LAYER(gate_proj, "mlp.gate_proj", 'I', 'C', false),
    LAYER(up_proj, "mlp.up_proj", 'I', 'C', false),
    LAYER(down_proj, "mlp.down_proj", 'C', 'I', false),
    LAYER(attn_conv_proj, "attention_conv.kernel_projection", 'G', 'C', true),
    LAYER(mlp_conv_proj, "mlp_conv.kernel_projection", 'G', 'C', true),
};

static const slot end_slots[] = {
    END(fc, "fc", 'C', 'T', false),
    END(hidden_norm, "hidden_norm.weight", 'C', 0, false),
    END(final_norm, "norm.weight", 'C', 0, false),
    END(selector_hidden, "candidate_selector.hidden_projection", 'R', 'C', true),
    END(predecessor, "candidate_selector.predecessor_codebook", 'V', 'R', true),
    END(successor, "candidate_selector.successor_codebook", 'V', 'R', true),
};

static int64_t read_size(const ts_config *c, char what)
{
    const ts_dflash_config *d = &c->dflash;
    switch (what) {
    case 'C':
        return c->C;
    case 'D':
        return c->D;
    case 'I':
        return c->I;
    case 'Q':
        return c->Hq * c->D;
    case 'K':
        return c->Hkv * c->D;
    case 'G':
        return 2 * d->conv_taps * (c->C / d->conv_group);
    case 'T':
        return d->taps * c->C;
    case 'R':
        return d->rank;
    default:
        return c->V;
    }
}

static ts_status bind_slots(loader *l, const char *prefix, const slot *s, size_t n, void *base)
{
    const ts_config *c = &l->w->cfg;
    ts_status status = TS_OK;
    for (size_t i = 0; i < n && status == TS_OK; i++) {
        char name[NAME];
        void *field = (char *)base + s[i].offset;
        if (s[i].second && c->dflash.slots == 0)
            continue;
        snprintf(name, sizeof name, "%s%s", prefix, s[i].name);
        status = s[i].K ? ts_bind_matrix(&l->b, name, read_size(c, s[i].N), read_size(c, s[i].K), field)
                        : ts_bind_vector(&l->b, name, 1, (int64_t[]){read_size(c, s[i].N)}, field);
    }
    return status;
}

static ts_status bind_kernels(loader *l, const char *prefix, ts_layer *layer)
{
    const ts_config *c = &l->w->cfg;
    const int64_t dim[3] = {2, c->dflash.conv_taps, c->C};
    char name[NAME];
    if (c->dflash.slots == 0)
        return TS_OK;
    snprintf(name, sizeof name, "%sattention_conv.base_kernel", prefix);
    ts_status status = ts_bind_vector(&l->b, name, 3, dim, &layer->attn_conv);
    snprintf(name, sizeof name, "%smlp_conv.base_kernel", prefix);
    return status == TS_OK ? ts_bind_vector(&l->b, name, 3, dim, &layer->mlp_conv) : status;
}

static ts_status bind_all(loader *l)
{
    ts_weights *w = l->w;
    ts_status status = bind_slots(l, "", end_slots, sizeof end_slots / sizeof *end_slots, w);
    for (int64_t i = 0; i < w->cfg.layers && status == TS_OK; i++) {
        char prefix[32];
        snprintf(prefix, sizeof prefix, "layers.%lld.", (long long)i);
        status = bind_slots(l, prefix, layer_slots, sizeof layer_slots / sizeof *layer_slots, &w->layer[i]);
        if (status == TS_OK)
            status = bind_kernels(l, prefix, &w->layer[i]);
    }
    return status;
}

/* Nothing may be left: a drafter with parts that this one lacks is another function. */
static ts_status check_extras(const loader *l)
{
    for (size_t i = 0; i < ts_checkpoint_count(l->w->ckpt); i++) {
        const ts_tensor *t = ts_checkpoint_at(l->w->ckpt, i);
        bool used = false;
        for (size_t k = 0; k < l->b.n_used && !used; k++)
            used = l->b.used[k] == t;
        if (!used)
            return ts_fail(l->b.err, TS_BAD, l->b.path, t->name, "the drafter has no such tensor");
    }
    return TS_OK;
}

static ts_status bind_checkpoint(loader *l, const ts_weights *target)
{
    ts_weights *w = l->w;
    w->embed = target->embed;
    w->head = target->head;
    w->folded = true;
    ts_status status = ts_checkpoint_open(w->path, &w->ckpt, l->b.err);
    if (status != TS_OK)
        return status;
    const size_t n = (ts_checkpoint_count(w->ckpt) + 1) * sizeof *l->b.used;
    w->layer = calloc((size_t)w->cfg.layers, sizeof *w->layer);
    l->b.used = malloc(n);
    l->b.ckpt = w->ckpt;
    l->b.path = w->path;
    l->b.read = true;
    status = w->layer != NULL && l->b.used != NULL ? bind_all(l) : ts_no_memory(l->b.err, n);
    if (status == TS_OK)
        status = check_extras(l);
    free(l->b.used);
    return status;
}

static ts_status load(loader *l, const ts_weights *target, const char *path, ts_error *err)
{
    char beside[PATH], config[PATH];
    ts_status status = TS_OK;
    if (path == NULL)
        status = ts_draft_beside(target, "dflash2.safetensors", beside, sizeof beside, err);
    if (status == TS_OK)
        status = ts_draft_config(path != NULL ? path : beside, config, sizeof config, err);
    if (status != TS_OK)
        return status;
    snprintf(l->w->path, sizeof l->w->path, "%s", path != NULL ? path : beside);
    status = ts_config_load_dflash(config, &target->cfg, &l->w->cfg, err);
    if (status == TS_OK)
        status = ts_quant_load(config, &l->b.quant, err);
    return status == TS_OK ? bind_checkpoint(l, target) : status;
}

ts_status ts_weights_load_dflash(const ts_weights *target, const char *path, ts_weights **out, ts_error *err)
{
    loader l = {.w = calloc(1, sizeof *l.w), .b = {.err = err}};
    if (l.w == NULL)
        return ts_no_memory(err, sizeof *l.w);
    ts_status status = load(&l, target, path, err);
    ts_quant_free(&l.b.quant);
    if (status == TS_OK)
        *out = l.w;
    else
        ts_weights_free(l.w);
    return status;
}
