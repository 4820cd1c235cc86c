/* The keys of kimi-linear. Latent attention is there as what it is with its up-projections absorbed: one key head
 * of the latent and the shared part; the heads' own sizes are the keys that end in _mla. */
#include "config/gguf_source.h"

enum { SIGMOID = 2 };

/* A layer of latent attention has one head of keys, one of linear attention none. */
static ts_status add_layer_types(const ts_gguf_source *s)
{
    char key[TS_GGUF_KEY];
    const ts_gguf_value *v = ts_gguf_own(s->g, "attention.head_count_kv", key);
    ts_status status = TS_OK;
    if (v == NULL)
        return ts_gguf_bad(s, key, "missing");
    if (!v->array || v->count < (uint64_t)s->layers)
        return ts_gguf_bad(s, key, "must be an array with an entry for each layer, 0 where attention is linear");
    cJSON *list = cJSON_AddArrayToObject(s->o, "layer_types");
    for (int64_t i = 0; i < s->layers && status == TS_OK; i++) {
        int64_t heads = 0;
        status = ts_gguf_whole(s->g, v, (uint64_t)i, &heads, s->err);
        if (status == TS_OK && heads > 1)
            return ts_gguf_bad(s, key, "more than one head: only absorbed latent attention is supported");
        cJSON_AddItemToArray(list, cJSON_CreateString(heads ? "full_attention" : "linear_attention"));
    }
    return status;
}

static ts_status add_latent(const ts_gguf_source *s)
{
    int64_t rank = 0, shared = 0, key = 0, whole = 0;
    ts_status status = ts_gguf_need_int(s, "attention.kv_lora_rank", &rank);
    if (status == TS_OK)
        status = ts_gguf_need_int(s, "rope.dimension_count", &shared);
    if (status == TS_OK)
        status = ts_gguf_need_int(s, "attention.key_length_mla", &key);
    if (status == TS_OK)
        status = ts_gguf_need_int(s, "attention.key_length", &whole);
    if (status == TS_OK && whole != rank + shared)
        return ts_gguf_bad(s, "attention.key_length", "is not attention.kv_lora_rank + rope.dimension_count");
    if (status == TS_OK && key <= shared)
        return ts_gguf_bad(s, "attention.key_length_mla", "must exceed rope.dimension_count");
    cJSON_AddNumberToObject(s->o, "qk_nope_head_dim", (double)(key - shared));
    return status;
}

/* What would change the function and has no place in the model. */
static ts_status check_switches(const ts_gguf_source *s)
{
    static const char *const unknown[] = {"kda.gate_lower_bound", "attention.q_lora_rank"};
    char key[TS_GGUF_KEY];
    int64_t gate = SIGMOID;
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        if (ts_gguf_own(s->g, unknown[i], key) != NULL)
            return ts_gguf_bad(s, key, "is not supported");
    ts_status status = ts_gguf_opt_int(s->g, "expert_gating_func", &gate, s->err);
    if (status == TS_OK && gate != SIGMOID)
        return ts_gguf_bad(s, "expert_gating_func", "only 2 (sigmoid) is supported");
    const ts_gguf_value *norm = ts_gguf_own(s->g, "expert_weights_norm", key);
    if (status == TS_OK && norm != NULL &&
        (norm->kind != TS_GGUF_BOOL || norm->array || ts_gguf_number(norm, 0) < 1))
        return ts_gguf_bad(s, key, "only true is supported");
    return status;
}

ts_status ts_gguf_kimi(const ts_gguf_source *s)
{
    static const ts_gguf_member member[] = {
        {"feed_forward_length", "intermediate_size", false},
        {"attention.head_count", "linear_num_heads", false},
        {"kda.head_dim", "linear_head_dim", false},
        {"attention.kv_lora_rank", "kv_lora_rank", false},
        {"rope.dimension_count", "qk_rope_head_dim", false},
        {"attention.value_length_mla", "v_head_dim", false},
        {"expert_shared_count", "num_shared_experts", true},
        {"leading_dense_block_count", "first_k_dense_replace", false},
        {"expert_group_count", "num_expert_group", true},
        {"expert_group_used_count", "topk_group", true},
    };
    ts_status status = check_switches(s);
    if (status == TS_OK)
        status = ts_gguf_add_ints(s, member, sizeof member / sizeof *member);
    if (status == TS_OK)
        status = add_latent(s);
    if (status == TS_OK)
        status = ts_gguf_add_real(s, "expert_weights_scale", "routed_scaling_factor");
    return status == TS_OK ? add_layer_types(s) : status;
}
