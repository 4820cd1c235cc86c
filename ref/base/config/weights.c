/* A checkpoint's tensors bound to the slots of the model. Every tensor is
 * checked on its way into its slot; what is left over must be a part that the
 * text model does not have. */
#include "config/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "config/bind.h"
#include "config/bind_experts.h"
#include "config/bind_kimi.h"
#include "config/bind_mtp.h"
#include "config/gguf_config.h"
#include "config/names.h"
#include "config/slots.h"

enum { NAME = 256 };

/* What a pass over the slots fills in. */
typedef struct {
    bool all;
    int64_t layer;      /* else this one, or -1: the ends */
    const char *matrix; /* and of its matrices this one; NULL: all */
} part;

typedef struct {
    ts_binder b;
    ts_weights *w;
    const char *prefix; /* of layers, embed_tokens and norm; NULL: GGUF names */
    bool mlx;           /* conv1d is [CD,W,1] */
    int64_t layer;      /* the one being bound, or -1 */
    part part;
} loader;

static const struct {
    const char *prefix;
    bool mlx; /* norms hold 1 + w, conv1d is [CD,W,1] */
} naming[] = {
    {"model.language_model.", false},
    {"model.", false},
    {"language_model.model.", true},
};

/* What Hugging Face calls `hf`. */
static void gguf_name(const loader *l, const char *hf, char out[NAME])
{
    const ts_name_set of = ts_names_of(&l->w->cfg);
    ts_name_gguf(of, l->layer >= 0 ? TS_NAME_LAYER : TS_NAME_END, l->layer, hf, out, NAME);
}

static void full_name(const loader *l, const char *suffix, char out[NAME])
{
    if (l->prefix == NULL)
        gguf_name(l, suffix, out);
    else if (l->layer >= 0)
        snprintf(out, NAME, "%slayers.%lld.%s", l->prefix, (long long)l->layer, suffix);
    else
        snprintf(out, NAME, "%s%s", l->prefix, suffix);
}

/* `role` NULL: a vector, which are small. */
static bool is_wanted(const loader *l, const char *role)
{
    const part *p = &l->part;
    if (p->all || p->layer != l->layer)
        return p->all;
    return role == NULL || p->matrix == NULL || strcmp(p->matrix, role) == 0;
}

/* Of the layer at hand. */
static bool is_there(const loader *l, const char *module)
{
    char name[NAME], weight[NAME + 8];
    full_name(l, module, name);
    snprintf(weight, sizeof weight, "%s.weight", name);
    return ts_checkpoint_find(l->w->ckpt, weight, NULL) != NULL;
}

/* GGUF holds what its converter made of the values. */
static ts_status use_gguf(loader *l, const ts_gguf *g)
{
    char arch[TS_GGUF_ARCH];
    ts_status status = ts_gguf_architecture(g, arch, l->b.err);
    l->w->folded = l->w->rate = true;
    l->w->tiled = strncmp(arch, "qwen35", 6) == 0 && l->w->cfg.Hv != l->w->cfg.Hk;
    l->layer = 0;
    while (l->layer < l->w->cfg.layers - 1 && l->w->cfg.full[l->layer])
        l->layer++;
    l->w->split = l->w->cfg.family == TS_FAMILY_NEXT && !is_there(l, "linear_attn.in_proj_qkvz");
    return status;
}

static ts_status find_prefix(loader *l)
{
    char name[NAME];
    if (ts_checkpoint_gguf(l->w->ckpt) != NULL)
        return use_gguf(l, ts_checkpoint_gguf(l->w->ckpt));
    for (size_t i = 0; i < sizeof naming / sizeof *naming; i++) {
        snprintf(name, sizeof name, "%sembed_tokens.weight", naming[i].prefix);
        if (ts_checkpoint_find(l->w->ckpt, name, NULL) != NULL) {
            l->prefix = naming[i].prefix;
            l->w->folded = naming[i].mlx || l->w->cfg.family == TS_FAMILY_KIMI;
            l->mlx = naming[i].mlx;
            return TS_OK;
        }
    }
    return ts_fail(l->b.err, TS_BAD, l->b.path, "embed_tokens.weight",
                   "missing under model., model.language_model. and language_model.model.");
}

static bool same_matrix(const ts_matrix *a, const ts_matrix *b)
{
    if (a->format != b->format || a->aux != b->aux)
        return false;
    const bool mlx = a->format == TS_W_MLX;
    const int64_t bits = mlx ? a->bits : a->format == TS_W_F32 ? 32 : 16;
    if (memcmp(a->data, b->data, (size_t)(a->N * (a->K * bits / 8))) != 0)
        return false;
    const size_t aux = mlx ? (size_t)(a->N * (a->K / a->group) * ts_dtype_table[a->aux].bits / 8) : 0;
    return aux == 0 || (memcmp(a->scales, b->scales, aux) == 0 && memcmp(a->biases, b->biases, aux) == 0);
}

/* Some exports of tied models carry a copy of the embedding as lm_head: fine if it is one. Which
 * takes reading both; a part is content with the shape. */
static ts_status bind_tied_head(loader *l, const char *module)
{
    ts_weights *w = l->w;
    char weight[NAME];
    ts_matrix copy = {0};
    w->head = w->embed;
    snprintf(weight, sizeof weight, "%s.weight", module);
    if (ts_checkpoint_find(w->ckpt, weight, NULL) == NULL)
        return TS_OK;
    l->b.read = l->part.all;
    ts_status status = ts_bind_matrix(&l->b, module, w->cfg.V, w->cfg.C, &copy);
    if (status == TS_OK && l->b.read && !same_matrix(&copy, &w->embed))
        status = ts_fail(l->b.err, TS_BAD, l->b.path, weight,
                         "differs from the embedding, but the config ties them");
    return status;
}

/* lm_head has no prefix, or MLX's; when tied it is the embedding, which comes before it in the table. */
static ts_status bind_head(loader *l, ts_matrix *out)
{
    const ts_weights *w = l->w;
    const char *module = l->prefix != NULL ? "lm_head" : "output";
    if (ts_checkpoint_find(w->ckpt, "language_model.lm_head.weight", NULL) != NULL)
        module = "language_model.lm_head";
    return w->cfg.tied ? bind_tied_head(l, module) : ts_bind_matrix(&l->b, module, w->cfg.V, w->cfg.C, out);
}

/* The slot's name in this file: of two that Hugging Face files use the one that is there, or the first. `end`:
 * what follows it in a tensor's name. */
static void slot_name(const loader *l, const ts_slot *s, const char *end, char out[NAME])
{
    char tensor[NAME + 8];
    if (s->other != NULL && l->prefix != NULL) {
        full_name(l, s->other, out);
        snprintf(tensor, sizeof tensor, "%s%s", out, end);
        if (ts_checkpoint_find(l->w->ckpt, tensor, NULL) != NULL)
            return;
    }
    full_name(l, s->name, out);
}

static ts_status bind_kv_halves(loader *l, ts_matrix *out)
{
    char keys[NAME], values[NAME];
    full_name(l, "self_attn.k_b_proj.weight", keys);
    full_name(l, "self_attn.v_b_proj.weight", values);
    return ts_bind_kv_halves(&l->b, keys, values, &l->w->cfg, out, &l->w->layer[l->layer].own_kv_b);
}

static ts_status bind_matrix(loader *l, const ts_slot *s)
{
    char module[NAME];
    const ts_config *c = &l->w->cfg;
    ts_matrix *out = ts_slot_field(l->w, s, l->layer);
    bool tied_head = c->tied && strcmp(s->role, "embed") == 0 && is_wanted(l, "head");
    l->b.read = is_wanted(l, s->role) || tied_head;
    if (strcmp(s->role, "head") == 0)
        return bind_head(l, out);
    slot_name(l, s, ".weight", module);
    if (strcmp(s->role, "kv_b") == 0 && l->prefix == NULL && !is_there(l, s->name))
        return bind_kv_halves(l, out);
    return ts_bind_matrix(&l->b, module, s->N(c), s->K(c), out);
}

static ts_status bind_three_convs(loader *l, int64_t channels, ts_vector *out)
{
    static const char *const stream[3] = {"self_attn.q_conv1d.weight", "self_attn.k_conv1d.weight",
                                          "self_attn.v_conv1d.weight"};
    char name[3][NAME];
    for (int i = 0; i < 3; i++)
        full_name(l, stream[i], name[i]);
    return ts_bind_convs(&l->b, (const char *const[]){name[0], name[1], name[2]}, channels / 3, l->w->cfg.W, out);
}

static ts_status bind_conv(loader *l, const ts_slot *s, const char *name, ts_vector *out)
{
    const ts_config *c = &l->w->cfg;
    const int64_t n = s->N(c), hf[3] = {n, 1, c->W}, mlx[3] = {n, c->W, 1}, gguf[2] = {n, c->W};
    if (s->place == TS_PLACE_KDA && ts_checkpoint_find(l->w->ckpt, name, NULL) == NULL)
        return bind_three_convs(l, n, out);
    if (l->prefix == NULL)
        return ts_bind_vector(&l->b, name, 2, gguf, out);
    return ts_bind_vector(&l->b, name, 3, l->mlx ? mlx : hf, out);
}

static ts_status bind_vector(loader *l, const ts_slot *s)
{
    char name[NAME];
    const int64_t n = s->N(&l->w->cfg), four[4] = {1, 1, n, 1};
    slot_name(l, s, "", name);
    l->b.read = is_wanted(l, NULL);
    ts_vector *out = ts_slot_field(l->w, s, l->layer);
    if (strcmp(s->role, "conv") == 0)
        return bind_conv(l, s, name, out);
    const ts_tensor *t = ts_checkpoint_find(l->w->ckpt, name, NULL);
    /* Kimi's A_log is [1,1,H,1], of which ggml's tools leave [H,1]. */
    const int ndim = s->place == TS_PLACE_KDA && t != NULL && (t->ndim == 4 || t->ndim == 2) ? t->ndim : 1;
    return ts_bind_vector(&l->b, name, ndim, ndim == 1 ? &n : four + 4 - ndim, out);
}

static ts_status bind_experts(loader *l)
{
    char prefix[NAME];
    full_name(l, "", prefix);
    l->b.read = is_wanted(l, "experts");
    return ts_bind_experts(&l->b, prefix, &l->w->cfg.moe, l->w->cfg.C, &l->w->layer[l->layer]);
}

/* The slots of one layer, or of the ends (-1). */
static ts_status bind_slots(loader *l, int64_t layer)
{
    ts_status status = TS_OK;
    const ts_config *c = &l->w->cfg;
    const ts_slot *s;
    l->layer = layer;
    for (size_t i = 0; (s = ts_slot_at(i)) != NULL && status == TS_OK; i++)
        if (ts_slot_lies_in(l->w, s, layer))
            status = s->K != NULL ? bind_matrix(l, s) : bind_vector(l, s);
    return status == TS_OK && layer >= 0 && c->moe.E > 0 && c->moe.layer[layer] ? bind_experts(l) : status;
}

/* A block of multi-token prediction: checked, not kept. */
static ts_status check_mtp(loader *l, int64_t layer)
{
    ts_weights head = {0};
    l->b.read = false;
    ts_status status = ts_bind_mtp(&l->b, NULL, layer, l->w, &head);
    free(head.layer);
    return status;
}

/* Of GGUF only: Hugging Face's names of these say themselves that they are no part of the trunk. */
static ts_status check_mtp_blocks(loader *l)
{
    int64_t n = 0;
    const ts_gguf *g = ts_checkpoint_gguf(l->w->ckpt);
    ts_status status = g != NULL ? ts_gguf_opt_int(g, "nextn_predict_layers", &n, l->b.err) : TS_OK;
    for (int64_t i = 0; i < n && status == TS_OK; i++)
        status = check_mtp(l, l->w->cfg.layers + i);
    return status;
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (const ts_tensor *const *)a, y = (uintptr_t) * (const ts_tensor *const *)b;
    return (x > y) - (x < y);
}

/* Parts of a published checkpoint that are not the text model. */
static bool other_part(const char *name)
{
    const char *const other[] = {"mtp.", "model.visual.", "vision_tower."};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (strncmp(name, other[i], strlen(other[i])) == 0)
            return true;
    return false;
}

static ts_status check_extras(loader *l)
{
    const ts_tensor **used = l->b.used;
    const char *file = NULL;
    qsort(used, l->b.n_used, sizeof *used, by_address);
    for (size_t i = 0; i < ts_checkpoint_count(l->w->ckpt); i++) {
        const ts_tensor *t = ts_checkpoint_at(l->w->ckpt, i);
        if (other_part(t->name) || bsearch(&t, used, l->b.n_used, sizeof *used, by_address) != NULL)
            continue;
        ts_checkpoint_find(l->w->ckpt, t->name, &file);
        return ts_fail(l->b.err, TS_BAD, file, t->name, "the model has no such tensor");
    }
    return TS_OK;
}

/* A misspelt module would be read by the default. */
static ts_status check_overrides(const loader *l)
{
    char name[NAME];
    for (size_t i = 0; i < l->b.quant.n; i++) {
        const char *module = l->b.quant.own[i].module;
        bool there = other_part(module);
        for (int k = 0; k < 2 && !there; k++) {
            int n = snprintf(name, sizeof name, "%s%s.weight", k ? "language_model." : "", module);
            there = n < NAME && ts_checkpoint_find(l->w->ckpt, name, NULL) != NULL;
        }
        if (!there)
            return ts_fail(l->b.err, TS_BAD, l->b.path, module,
                           "the config's quantization names it, but the model has no such module");
    }
    return TS_OK;
}

static ts_status bind_all(loader *l)
{
    ts_status status = find_prefix(l);
    if (status == TS_OK)
        status = check_overrides(l);
    for (int64_t i = -1; i < l->w->cfg.layers && status == TS_OK; i++)
        status = bind_slots(l, i);
    if (status == TS_OK)
        status = check_mtp_blocks(l);
    return status == TS_OK ? check_extras(l) : status;
}

static ts_status bind_checkpoint(loader *l, const char *path, ts_error *err)
{
    ts_weights *w = l->w;
    ts_status status = ts_checkpoint_open(path, &w->ckpt, err);
    if (status != TS_OK)
        return status;
    size_t n = ts_checkpoint_count(w->ckpt);
    w->layer = calloc((size_t)w->cfg.layers, sizeof *w->layer);
    l->b.used = malloc((n + 1) * sizeof *l->b.used);
    l->b.ckpt = w->ckpt;
    l->b.path = path;
    l->b.err = err;
    status = w->layer != NULL && l->b.used != NULL
                 ? bind_all(l)
                 : ts_no_memory(err, (size_t)w->cfg.layers * sizeof *w->layer + n * sizeof *l->b.used);
    free(l->b.used);
    return status;
}

static ts_status load_config(loader *l, const char *config, const char *dir, ts_error *err)
{
    char path[4096];
    if (config != NULL) {
        ts_status status = ts_config_load_file(config, &l->w->cfg, err);
        return status == TS_OK ? ts_quant_load(config, &l->b.quant, err) : status;
    }
    if (snprintf(path, sizeof path, "%s/config.json", dir) >= (int)sizeof path)
        return ts_fail(err, TS_BAD, dir, NULL, "path too long");
    ts_status status = ts_config_load(dir, &l->w->cfg, err);
    if (ts_gguf_is(dir))
        return status;
    return status == TS_OK ? ts_quant_load(path, &l->b.quant, err) : status;
}

static ts_status check_part(const part *p, const ts_config *c, const char *path, ts_error *err)
{
    if (!p->all && p->layer >= c->layers)
        return ts_fail(err, TS_BAD, path, NULL, "no layer %lld: the model has %lld", (long long)p->layer,
                       (long long)c->layers);
    return TS_OK;
}

/* config is a file, or NULL for those of the folder `path`. */
static ts_status load(const char *config, const char *path, part p, ts_weights **out, ts_error *err)
{
    loader l = {.w = calloc(1, sizeof *l.w), .part = p};
    if (l.w == NULL)
        return ts_no_memory(err, sizeof *l.w);
    snprintf(l.w->path, sizeof l.w->path, "%s", path);
    ts_status status = load_config(&l, config, path, err);
    if (status == TS_OK)
        status = check_part(&p, &l.w->cfg, path, err);
    if (status == TS_OK)
        status = bind_checkpoint(&l, path, err);
    ts_quant_free(&l.b.quant);
    if (status == TS_OK)
        *out = l.w;
    else
        ts_weights_free(l.w);
    return status;
}

ts_status ts_weights_load(const char *dir, ts_weights **out, ts_error *err)
{
    return load(NULL, dir, (part){.all = true}, out, err);
}

ts_status ts_weights_load_part(const char *dir, int64_t layer, const char *matrix, ts_weights **out, ts_error *err)
{
    return load(NULL, dir, (part){.layer = layer < 0 ? -1 : layer, .matrix = matrix}, out, err);
}

ts_status ts_weights_load_files(const char *config, const char *weights, ts_weights **out, ts_error *err)
{
    return load(config, weights, (part){.all = true}, out, err);
}

static void *find_slot(const ts_weights *w, int64_t layer, const char *role, bool matrix)
{
    const ts_slot *s;
    for (size_t i = 0; (s = ts_slot_at(i)) != NULL; i++)
        if (strcmp(s->role, role) == 0 && (s->K != NULL) == matrix && ts_slot_lies_in(w, s, layer))
            return ts_slot_field(w, s, layer);
    return NULL;
}

const ts_matrix *ts_weights_matrix(const ts_weights *w, int64_t layer, const char *role)
{
    return find_slot(w, layer, role, true);
}

const ts_vector *ts_weights_vector(const ts_weights *w, int64_t layer, const char *role)
{
    return find_slot(w, layer, role, false);
}

ts_status ts_weights_hash(ts_weights *w, ts_error *err)
{
    return ts_checkpoint_sha256(w->ckpt, w->sha256, err);
}

void ts_weights_free(ts_weights *w)
{
    if (w == NULL)
        return;
    for (int64_t i = 0; w->layer != NULL && i < w->cfg.layers; i++) {
        ts_layer *l = &w->layer[i];
        ts_vector *const v[] = {&l->input_norm, &l->post_norm,   &l->conv,      &l->A_log,
                                &l->dt_bias,    &l->gdn_norm,    &l->q_norm,    &l->k_norm,
                                &l->kv_a_norm,  &l->router_bias, &l->attn_conv, &l->mlp_conv};
        for (size_t k = 0; k < sizeof v / sizeof *v; k++)
            free(v[k]->v);
        free(l->own_kv_b);
        free(l->expert_gate);
        free(l->expert_up);
        free(l->expert_down);
    }
    free(w->layer);
    free(w->final_norm.v);
    free(w->embed_norm.v);
    free(w->hidden_norm.v);
    ts_checkpoint_close(w->ckpt);
    free(w);
}
