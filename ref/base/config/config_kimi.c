/* The keys of Kimi-Linear: Moonshot's own config.json (linear_attn_config) and the flat one of Hugging Face. */
#include "config/config_source.h"

#include <string.h>

static ts_status read_dims(const source *s, ts_config *c)
{
    const ts_config_dim dim[] = {
        {"vocab_size", MAX_DIM, &c->V},
        {"hidden_size", MAX_DIM, &c->C},
        {"num_hidden_layers", TS_MAX_LAYERS, &c->layers},
        {"num_attention_heads", MAX_DIM, &c->Hq},
        {"kv_lora_rank", MAX_DIM, &c->rank},
        {"qk_nope_head_dim", MAX_DIM, &c->Dn},
        {"qk_rope_head_dim", MAX_DIM, &c->Dr},
        {"v_head_dim", MAX_DIM, &c->Dm},
    };
    const char *length = item(s->text, "model_max_length") != NULL ? "model_max_length" : "max_position_embeddings";
    ts_status status = ts_config_dims(s, dim, sizeof dim / sizeof *dim);
    if (status == TS_OK)
        status = ts_json_int(s->file, s->text, length, 1, MAX_POSITIONS, &c->max_positions, s->err);
    c->Hkv = 1; /* one latent row a token */
    c->D = c->Dn + c->Dr;
    return status;
}

/* What would change the function: only the values of the published models. */
static ts_status check_switches(const source *s)
{
    bool bias = false, nope = true;
    ts_status status = ts_json_opt_bool(s->file, s->text, "attention_bias", &bias, s->err);
    if (status == TS_OK)
        status = ts_json_opt_bool(s->file, s->text, "mla_use_nope", &nope, s->err);
    if (status == TS_OK)
        status = ts_config_name(s, "hidden_act", "silu", "silu");
    if (status != TS_OK)
        return status;
    if (item(s->text, "q_lora_rank") != NULL)
        return bad(s, "q_lora_rank", "queries of low rank are not supported");
    if (bias)
        return bad(s, "attention_bias", "true is not supported");
    return nope ? TS_OK : bad(s, "mla_use_nope", "false is not supported: latent attention here does not rotate");
}

/* Layer numbers of a list; base: what the first layer is called. */
static ts_status read_numbers(const source *s, const cJSON *linear, const char *key, int64_t base, bool full,
                              const ts_config *c, int *named, bool *is_full)
{
    const cJSON *list = item(linear, key);
    if (!cJSON_IsArray(list))
        return bad(s, key, "must be a list of layer numbers");
    for (const cJSON *i = list->child; i != NULL; i = i->next) {
        double n = cJSON_IsNumber(i) ? i->valuedouble - (double)base : -1;
        if (!(n >= 0 && n < (double)c->layers) || n != (double)(int64_t)n)
            return ts_fail(s->err, TS_BAD, s->file, key, "must hold numbers of %lld layers, counted from %lld",
                           (long long)c->layers, (long long)base);
        named[(int64_t)n]++;
        is_full[(int64_t)n] = full;
    }
    return TS_OK;
}

static bool holds(const cJSON *list, double n)
{
    for (const cJSON *i = list != NULL ? list->child : NULL; i != NULL; i = i->next)
        if (cJSON_IsNumber(i) && i->valuedouble == n)
            return true;
    return false;
}

/* Two lists that name every layer once. Moonshot counts from 1; a list with a 0 in it counts from 0. */
static ts_status read_lists(const source *s, const cJSON *linear, ts_config *c)
{
    int named[TS_MAX_LAYERS] = {0};
    bool zero = holds(item(linear, "full_attn_layers"), 0) || holds(item(linear, "kda_layers"), 0);
    ts_status status = read_numbers(s, linear, "full_attn_layers", !zero, true, c, named, c->full);
    if (status == TS_OK)
        status = read_numbers(s, linear, "kda_layers", !zero, false, c, named, c->full);
    for (int64_t i = 0; i < c->layers && status == TS_OK; i++)
        if (named[i] != 1)
            status = ts_fail(s->err, TS_BAD, s->file, "linear_attn_config",
                             "layer %lld is named %d times by full_attn_layers and kda_layers",
                             (long long)(i + !zero), named[i]);
    return status;
}

static ts_status read_nested(const source *s, const cJSON *linear, ts_config *c)
{
    if (!cJSON_IsObject(linear))
        return bad(s, "linear_attn_config", "must be an object");
    ts_status status = ts_json_int(s->file, linear, "num_heads", 1, MAX_DIM, &c->Hk, s->err);
    if (status == TS_OK)
        status = ts_json_int(s->file, linear, "head_dim", 1, MAX_DIM, &c->Dk, s->err);
    if (status == TS_OK)
        status = ts_json_int(s->file, linear, "short_conv_kernel_size", 1, MAX_DIM, &c->W, s->err);
    if (status == TS_OK)
        status = ts_json_opt_double(s->file, linear, "gate_lower_bound", &c->lower_bound, s->err);
    return status == TS_OK ? read_lists(s, linear, c) : status;
}

static ts_status read_flat(const source *s, ts_config *c)
{
    const ts_config_dim dim[] = {
        {"linear_num_heads", MAX_DIM, &c->Hk},
        {"linear_head_dim", MAX_DIM, &c->Dk},
        {"linear_conv_kernel_dim", MAX_DIM, &c->W},
    };
    ts_status status = ts_config_dims(s, dim, sizeof dim / sizeof *dim);
    if (status == TS_OK)
        status = ts_json_opt_double(s->file, s->text, "gate_lower_bound", &c->lower_bound, s->err);
    if (status == TS_OK && item(s->text, "layer_types") == NULL)
        return bad(s, "layer_types", "missing");
    return status == TS_OK ? ts_config_layer_list(s, item(s->text, "layer_types"), c) : status;
}

/* As for Qwen: what sizes a row fits in 31 bits. */
static ts_status check_products(const source *s, const ts_config *c)
{
    if (3 * c->Hk * c->Dk * c->W > INT32_MAX)
        return bad(s, "linear_attn_config", "the convolution's weights exceed 2^31");
    if (c->Hq * (c->Dn + c->Dr) > INT32_MAX || c->Hq * (c->Dn + c->Dm) > INT32_MAX)
        return bad(s, "num_attention_heads", "the channels of latent attention exceed 2^31");
    if (!(c->lower_bound >= -5 && c->lower_bound <= 0))
        return bad(s, "gate_lower_bound", "must be within -5..0");
    return TS_OK;
}

ts_status ts_config_kimi(const source *s, ts_config *c)
{
    const cJSON *linear = item(s->text, "linear_attn_config");
    ts_status status = check_switches(s);
    if (status == TS_OK)
        status = read_dims(s, c);
    if (status == TS_OK)
        status = linear != NULL ? read_nested(s, linear, c) : read_flat(s, c);
    c->Hv = c->Hk;
    c->Dv = c->Dk;
    return status == TS_OK ? check_products(s, c) : status;
}
