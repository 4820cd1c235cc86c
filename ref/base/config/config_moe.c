/* The keys of mixtures of experts, as Qwen and as Kimi name them. */
#include "config/config_source.h"

#include <string.h>

/* How many experts a token keeps, under the first of two names if it is there or neither is. */
static ts_status read_kept(const source *s, const char *one, const char *other, ts_moe_config *m)
{
    const char *key = item(s->text, one) != NULL || item(s->text, other) == NULL ? one : other;
    ts_status status = ts_json_int(s->file, s->text, key, 1, TS_MAX_EXPERTS, &m->k, s->err);
    if (status == TS_OK && m->k > m->E)
        return ts_fail(s->err, TS_BAD, s->file, key, "%lld, but there are %lld experts", (long long)m->k,
                       (long long)m->E);
    return status;
}

/* A list of layer numbers that stay dense; Qwen's. */
static ts_status read_dense_list(const source *s, ts_config *c)
{
    const cJSON *list = item(s->text, "mlp_only_layers");
    if (list == NULL)
        return TS_OK;
    if (!cJSON_IsArray(list))
        return bad(s, "mlp_only_layers", "must be a list");
    for (const cJSON *i = list->child; i != NULL; i = i->next) {
        if (!cJSON_IsNumber(i) || i->valuedouble != (double)i->valueint || i->valueint < 0 ||
            i->valueint >= c->layers)
            return bad(s, "mlp_only_layers", "must hold numbers of layers");
        c->moe.layer[i->valueint] = false;
    }
    return TS_OK;
}

/* Every decoder_sparse_step-th layer is sparse, but for those listed. */
static ts_status read_qwen_layers(const source *s, ts_config *c)
{
    int64_t step = 1;
    ts_status status = ts_json_opt_int(s->file, s->text, "decoder_sparse_step", 1, TS_MAX_LAYERS, &step, s->err);
    for (int64_t i = 0; i < c->layers; i++)
        c->moe.layer[i] = (i + 1) % step == 0;
    return status == TS_OK ? read_dense_list(s, c) : status;
}

/* mlp_layer_types says it per layer. */
static ts_status read_type_list(const source *s, const cJSON *list, ts_config *c)
{
    int64_t n = 0;
    for (const cJSON *i = list->child; i != NULL; i = i->next, n++) {
        const char *type = cJSON_GetStringValue(i);
        bool sparse = type != NULL && strcmp(type, "sparse") == 0;
        if (type == NULL || (!sparse && strcmp(type, "dense") != 0))
            return ts_fail(s->err, TS_BAD, s->file, "mlp_layer_types",
                           "entry %lld is \"%.60s\"; dense and sparse are known", (long long)n,
                           type != NULL ? type : "(not a string)");
        if (n < c->layers)
            c->moe.layer[n] = sparse;
    }
    if (n != c->layers)
        return ts_fail(s->err, TS_BAD, s->file, "mlp_layer_types", "has %lld entries for %lld layers", (long long)n,
                       (long long)c->layers);
    return TS_OK;
}

/* Kimi: a list, or every moe_layer_freq-th layer from first_k_dense_replace on. */
static ts_status read_kimi_layers(const source *s, ts_config *c)
{
    const cJSON *list = item(s->text, "mlp_layer_types");
    int64_t first = 0, every = 1;
    if (list != NULL)
        return cJSON_IsArray(list) ? read_type_list(s, list, c) : bad(s, "mlp_layer_types", "must be a list");
    ts_status status = ts_json_int(s->file, s->text, "first_k_dense_replace", 0, TS_MAX_LAYERS, &first, s->err);
    if (status == TS_OK)
        status = ts_json_opt_int(s->file, s->text, "moe_layer_freq", 1, TS_MAX_LAYERS, &every, s->err);
    for (int64_t i = 0; i < c->layers; i++)
        c->moe.layer[i] = i >= first && i % every == 0;
    return status;
}

static ts_status read_kimi_router(const source *s, ts_moe_config *m)
{
    int64_t shared = 0;
    m->sigmoid = true;
    m->renorm = true;
    m->groups = m->topk_groups = 1;
    ts_status status = ts_config_name(s, "moe_router_activation_func", "sigmoid", "sigmoid");
    if (status == TS_OK)
        status = ts_json_opt_bool(s->file, s->text, "moe_renormalize", &m->renorm, s->err);
    if (status == TS_OK)
        status = ts_json_opt_int(s->file, s->text, "num_expert_group", 1, m->E, &m->groups, s->err);
    if (status == TS_OK)
        status = ts_json_opt_int(s->file, s->text, "topk_group", 1, m->groups, &m->topk_groups, s->err);
    if (status == TS_OK)
        status = ts_json_double(s->file, s->text, "routed_scaling_factor", &m->scale, s->err);
    if (status == TS_OK)
        status = ts_json_opt_int(s->file, s->text, "num_shared_experts", 0, 64, &shared, s->err);
    m->shared = shared * m->I;
    if (status == TS_OK && m->E % m->groups != 0)
        return bad(s, "num_expert_group", "must divide num_experts");
    if (status == TS_OK && m->k > m->E / m->groups * m->topk_groups)
        return bad(s, "topk_group", "leaves fewer experts than are kept of a token");
    if (status == TS_OK && !(m->scale > 0 && m->scale <= 1e6))
        return bad(s, "routed_scaling_factor", "must be positive, at most 1e6");
    return status;
}

static ts_status read_qwen_router(const source *s, ts_moe_config *m)
{
    m->groups = m->topk_groups = 1;
    m->scale = 1;
    m->renorm = true;
    ts_status status = ts_json_opt_bool(s->file, s->text, "norm_topk_prob", &m->renorm, s->err);
    if (status != TS_OK)
        return status;
    return ts_json_int(s->file, s->text, "shared_expert_intermediate_size", 1, MAX_DIM, &m->shared, s->err);
}

/* A dense layer needs its size. */
static ts_status check_dense(const source *s, const ts_config *c)
{
    for (int64_t i = 0; i < c->layers; i++)
        if (!c->moe.layer[i] && c->I == 0)
            return ts_fail(s->err, TS_BAD, s->file, "intermediate_size", "missing, but layer %lld is dense",
                           (long long)i);
    return TS_OK;
}

ts_status ts_config_moe(const source *s, ts_config *c)
{
    ts_moe_config *m = &c->moe;
    bool kimi = c->family == TS_FAMILY_KIMI;
    ts_status status = ts_json_int(s->file, s->text, "num_experts", 1, TS_MAX_EXPERTS, &m->E, s->err);
    if (status == TS_OK)
        status = read_kept(s, kimi ? "num_experts_per_token" : "num_experts_per_tok", "num_experts_per_tok", m);
    if (status == TS_OK)
        status = ts_json_int(s->file, s->text, "moe_intermediate_size", 1, MAX_DIM, &m->I, s->err);
    if (status == TS_OK)
        status = kimi ? read_kimi_router(s, m) : read_qwen_router(s, m);
    if (status == TS_OK)
        status = kimi ? read_kimi_layers(s, c) : read_qwen_layers(s, c);
    return status == TS_OK ? check_dense(s, c) : status;
}
