/* A DFlash drafter's tensors. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "config/bind.h"
#include "config/draft.h"
#include "config/gguf_config.h"
#include "config/names.h"

enum { NAME = 128, PATH = 4096 };

typedef struct {
    ts_binder b;
    ts_weights *w;
    bool gguf; /* the file's names are GGUF's */
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

/* layer -1: of the ends. */
static void full_name(const loader *l, int64_t layer, const char *hf, char out[NAME])
{
    if (l->gguf)
        ts_name_gguf(TS_NAMES_DFLASH, layer >= 0 ? TS_NAME_LAYER : TS_NAME_END, layer, hf, out, NAME);
    else if (layer >= 0)
        snprintf(out, NAME, "layers.%lld.%s", (long long)layer, hf);
    else
        snprintf(out, NAME, "%s", hf);
}

static ts_status bind_slots(loader *l, int64_t layer, const slot *s, size_t n, void *base)
{
    const ts_config *c = &l->w->cfg;
    ts_status status = TS_OK;
    for (size_t i = 0; i < n && status == TS_OK; i++) {
        char name[NAME];
        void *field = (char *)base + s[i].offset;
        if (s[i].second && c->dflash.slots == 0)
            continue;
        full_name(l, layer, s[i].name, name);
        status = s[i].K ? ts_bind_matrix(&l->b, name, read_size(c, s[i].N), read_size(c, s[i].K), field)
                        : ts_bind_vector(&l->b, name, 1, (int64_t[]){read_size(c, s[i].N)}, field);
    }
    return status;
}

static ts_status bind_kernels(loader *l, int64_t number, ts_layer *layer)
{
    const ts_config *c = &l->w->cfg;
    const int64_t dim[3] = {2, c->dflash.conv_taps, c->C};
    char name[NAME];
    if (c->dflash.slots == 0)
        return TS_OK;
    full_name(l, number, "attention_conv.base_kernel", name);
    ts_status status = ts_bind_vector(&l->b, name, 3, dim, &layer->attn_conv);
    full_name(l, number, "mlp_conv.base_kernel", name);
    return status == TS_OK ? ts_bind_vector(&l->b, name, 3, dim, &layer->mlp_conv) : status;
}

static ts_status bind_all(loader *l)
{
    ts_weights *w = l->w;
    ts_status status = bind_slots(l, -1, end_slots, sizeof end_slots / sizeof *end_slots, w);
    for (int64_t i = 0; i < w->cfg.layers && status == TS_OK; i++) {
        status = bind_slots(l, i, layer_slots, sizeof layer_slots / sizeof *layer_slots, &w->layer[i]);
        if (status == TS_OK)
            status = bind_kernels(l, i, &w->layer[i]);
    }
    return status;
}

static ts_status bind_checkpoint(loader *l, const ts_weights *target)
{
    ts_weights *w = l->w;
    w->embed = target->embed;
    w->head = target->head;
    w->folded = true;
    const size_t n = (ts_checkpoint_count(w->ckpt) + 1) * sizeof *l->b.used;
    w->layer = calloc((size_t)w->cfg.layers, sizeof *w->layer);
    l->b.used = malloc(n);
    l->b.ckpt = w->ckpt;
    l->b.path = w->path;
    l->b.read = true;
    ts_status status = w->layer != NULL && l->b.used != NULL ? bind_all(l) : ts_no_memory(l->b.err, n);
    if (status == TS_OK)
        status = ts_bind_leftover(&l->b, "");
    free(l->b.used);
    return status;
}

/* A GGUF file has its config in it. */
static ts_status read_metadata(loader *l, const ts_gguf *g, const ts_weights *target)
{
    cJSON *json;
    ts_status status = ts_gguf_dflash_config(g, &target->cfg, &json, l->b.err);
    if (status != TS_OK)
        return status;
    l->gguf = true;
    status = ts_config_take_dflash(ts_gguf_path(g), json, &target->cfg, &l->w->cfg, l->b.err);
    cJSON_Delete(json);
    return status;
}

static ts_status read_config(loader *l, const char *path, const ts_weights *target)
{
    char config[PATH];
    ts_status status = ts_draft_config(path, config, sizeof config, l->b.err);
    if (status == TS_OK)
        status = ts_config_load_dflash(config, &target->cfg, &l->w->cfg, l->b.err);
    return status == TS_OK ? ts_quant_load(config, &l->b.quant, l->b.err) : status;
}

static ts_status load(loader *l, const ts_weights *target, const char *path, ts_error *err)
{
    char beside[PATH];
    struct stat st;
    ts_status status = TS_OK;
    if (path == NULL)
        status = ts_draft_beside(target, "dflash2.safetensors", beside, sizeof beside, err);
    if (status != TS_OK)
        return status;
    snprintf(l->w->path, sizeof l->w->path, "%s", path != NULL ? path : beside);
    if (stat(l->w->path, &st) != 0)
        return ts_fail(err, TS_BAD, l->w->path, NULL, "cannot open: %s", strerror(errno));
    const bool gguf = ts_gguf_is(l->w->path);
    status = gguf ? TS_OK : read_config(l, l->w->path, target);
    if (status == TS_OK)
        status = ts_checkpoint_open(l->w->path, &l->w->ckpt, err);
    if (status == TS_OK && gguf)
        status = read_metadata(l, ts_checkpoint_gguf(l->w->ckpt), target);
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
