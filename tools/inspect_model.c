#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/quant.h"
#include "config/weights.h"
#include "inspect.h"

/* Parts of a checkpoint, by a piece of the name; the first that fits. */
static const struct {
    const char *piece, *kind;
} kinds[] = {
    {"mtp.", "mtp"},
    {".nextn.", "mtp"},
    {"visual.", "vision"},
    {"vision_tower.", "vision"},
    {"embed_tokens.", "embedding"},
    {"token_embd.", "embedding"},
    {"lm_head.", "head"},
    {".attn_output.", "full attention"},
    {"output.weight", "head"},
    {"attn_norm.", "norms"},
    {"_attention_norm.", "norms"},
    {".ffn_norm.", "norms"},
    {".linear_attn.", "linear attention"},
    {".ssm_", "linear attention"},
    {".attn_qkv.", "linear attention"},
    {".attn_gate.", "linear attention"},
    {".self_attn.", "full attention"},
    {".attn_", "full attention"},
    {".mlp.", "mlp"},
    {".block_sparse_moe.", "mlp"},
    {".exp_probs_b.", "mlp"},
    {".ffn_", "mlp"},
    {"", "norms"},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct {
    double tensors, parameters, bytes;
} sum;

/* What only some families have. */
static void add_families(const ts_config *c, cJSON *m)
{
    const struct {
        const char *key;
        int64_t value;
    } dims[] = {
        {"latent", c->rank},
        {"latent_key_dim", c->Dn},
        {"latent_shared_key_dim", c->Dr},
        {"latent_value_dim", c->Dm},
        {"experts", c->moe.E},
        {"experts_per_token", c->moe.k},
        {"expert_intermediate", c->moe.I},
        {"shared_expert_intermediate", c->moe.shared},
        {"expert_groups", c->moe.groups},
    };
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
        if (dims[i].value)
            cJSON_AddNumberToObject(m, dims[i].key, (double)dims[i].value);
}

void ts_inspect_config(const ts_config *c, cJSON *o)
{
    const struct {
        const char *key;
        int64_t value;
    } dims[] = {
        {"vocabulary", c->V},        {"hidden", c->C},
        {"intermediate", c->I},      {"layers", c->layers},
        {"attention_heads", c->Hq},  {"kv_heads", c->Hkv},
        {"head_dim", c->D},          {"rotary_dims", c->R},
        {"linear_key_heads", c->Hk}, {"linear_value_heads", c->Hv},
        {"linear_key_dim", c->Dk},   {"linear_value_dim", c->Dv},
        {"conv_taps", c->W},         {"positions", c->max_positions},
    };
    cJSON *m = cJSON_AddObjectToObject(o, "config"), *full = cJSON_CreateArray(), *stop = cJSON_CreateArray();
    cJSON_AddStringToObject(m, "model_type", c->model_type);
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
        cJSON_AddNumberToObject(m, dims[i].key, (double)dims[i].value);
    add_families(c, m);
    cJSON_AddNumberToObject(m, "rope_theta", c->theta);
    cJSON_AddNumberToObject(m, "norm_eps", c->eps);
    cJSON_AddBoolToObject(m, "tied_head", c->tied);
    for (int64_t i = 0; i < c->layers; i++)
        if (c->full[i])
            cJSON_AddItemToArray(full, cJSON_CreateNumber((double)i));
    cJSON_AddItemToObject(m, "full_attention_layers", full);
    for (int i = 0; i < c->n_stop; i++)
        cJSON_AddItemToArray(stop, cJSON_CreateNumber(c->stop[i]));
    cJSON_AddItemToObject(m, "stop_ids", stop);
}

static int kind_of(const char *name)
{
    int i = 0;
    int same = KINDS - 1;
    while (strstr(name, kinds[i].piece) == NULL)
        i++;
    while (strcmp(kinds[i].kind, kinds[same].kind) != 0) /* several pieces, one kind: the last */
        same--;
    return same;
}

static bool ends_with(const char *name, const char *end, char module[256])
{
    size_t n = strlen(name), m = strlen(end);
    if (n <= m || n - m >= 256 || strcmp(name + n - m, end) != 0)
        return false;
    memcpy(module, name, n - m);
    module[n - m] = '\0';
    return true;
}

/* MLX scales or biases: storage, not parameters. */
static bool is_aux(ts_checkpoint *c, const char *name)
{
    char module[256], weight[264];
    if (!ends_with(name, ".scales", module) && !ends_with(name, ".biases", module))
        return false;
    snprintf(weight, sizeof weight, "%s.weight", module);
    const ts_tensor *t = ts_checkpoint_find(c, weight, NULL);
    return t && t->dtype == TS_U32;
}

/* 0 if the tensor is no MLX matrix. */
static ts_quant_kind codes_of(const ts_quant *q, const ts_tensor *t)
{
    char module[256];
    if (t->dtype != TS_U32 || !ends_with(t->name, ".weight", module))
        return (ts_quant_kind){0};
    return ts_quant_of(q, module);
}

static void add_up(ts_checkpoint *c, const ts_quant *q, sum by_kind[KINDS], sum *all)
{
    for (size_t i = 0; i < ts_checkpoint_count(c); i++) {
        const ts_tensor *t = ts_checkpoint_at(c, i);
        int bits = codes_of(q, t).bits;
        double n = (double)ts_tensor_count(t), p = is_aux(c, t->name) ? 0 : bits ? n * 32 / bits : n;
        sum *const to[] = {&by_kind[kind_of(t->name)], all};
        for (int k = 0; k < 2; k++) {
            to[k]->tensors++;
            to[k]->parameters += p;
            to[k]->bytes += (double)t->size;
        }
    }
}

static void add_sum(cJSON *o, const sum *s)
{
    cJSON_AddNumberToObject(o, "tensors", s->tensors);
    cJSON_AddNumberToObject(o, "parameters", s->parameters);
    cJSON_AddNumberToObject(o, "bytes", s->bytes);
}

static void add_kinds(const sum by_kind[KINDS], cJSON *o)
{
    cJSON *list = cJSON_AddArrayToObject(o, "kinds");
    for (int i = 0; i < KINDS; i++) {
        if (by_kind[i].tensors == 0)
            continue;
        cJSON *e = cJSON_CreateObject();
        cJSON_AddStringToObject(e, "kind", kinds[i].kind);
        add_sum(e, &by_kind[i]);
        cJSON_AddItemToArray(list, e);
    }
}

/* A matrix, or a stack of them (of experts, of heads). */
static bool is_module(const ts_tensor *t, char module[256])
{
    const bool stack = t->ndim == 3 && strstr(t->name, "conv1d") == NULL;
    return (t->ndim == 2 || stack) && ends_with(t->name, ".weight", module);
}

/* Every matrix and how it is stored. */
static void add_modules(ts_checkpoint *c, const ts_quant *q, cJSON *o)
{
    cJSON *list = cJSON_AddArrayToObject(o, "modules");
    for (size_t i = 0; i < ts_checkpoint_count(c); i++) {
        const ts_tensor *t = ts_checkpoint_at(c, i);
        ts_quant_kind k = codes_of(q, t);
        char module[256], storage[64];
        if (!is_module(t, module))
            continue;
        const ts_ggml_type *type = ts_checkpoint_type(c, t);
        if (type)
            snprintf(storage, sizeof storage, "%s", type->name);
        else if (k.bits)
            snprintf(storage, sizeof storage, "%d bits, group %d", k.bits, k.group);
        else
            snprintf(storage, sizeof storage, "%s", ts_dtype_table[t->dtype].name);
        cJSON *e = cJSON_CreateObject();
        cJSON_AddStringToObject(e, "module", module);
        cJSON_AddStringToObject(e, "storage", storage);
        if (t->ndim == 3)
            cJSON_AddNumberToObject(e, "matrices", (double)t->dim[0]);
        cJSON_AddItemToArray(list, e);
    }
}

static ts_status load_quant(const char *dir, ts_quant *q, ts_error *err)
{
    char path[4096];
    if (ts_gguf_is(dir))
        return TS_OK;
    if (snprintf(path, sizeof path, "%s/config.json", dir) >= (int)sizeof path)
        return ts_fail(err, TS_BAD, dir, NULL, "path too long");
    return ts_quant_load(path, q, err);
}

/* Kimi's norms are plain in every file. */
static const char *naming(const ts_weights *w)
{
    const bool plain = w->cfg.family == TS_FAMILY_KIMI;
    if (w->rate)
        return plain ? "GGUF" : "GGUF, norms hold 1 + w";
    return w->folded && !plain ? "MLX, norms hold 1 + w" : "Hugging Face";
}

ts_status ts_inspect_model(const char *dir, cJSON *o, ts_error *err)
{
    ts_weights *w = NULL;
    ts_quant q = {0};
    sum by_kind[KINDS] = {{0}}, all = {0};
    ts_status status = ts_weights_load_part(dir, -1, "", &w, err); /* names, dtypes, shapes */
    if (!status)
        status = load_quant(dir, &q, err);
    if (!status) {
        cJSON_AddStringToObject(o, "what", "model");
        ts_inspect_config(&w->cfg, o);
        cJSON_AddStringToObject(o, "naming", naming(w));
        add_up(w->ckpt, &q, by_kind, &all);
        add_sum(o, &all);
        add_kinds(by_kind, o);
        if (q.all.bits || w->rate)
            add_modules(w->ckpt, &q, o);
    }
    ts_quant_free(&q);
    ts_weights_free(w);
    return status;
}
