/* The keys of dflash in the words of a DFlash drafter's config.json. */
#include "config/gguf_source.h"

#include <string.h>

enum { MOST_LAYERS = 4096 };

/* Both names have been written; a file with both must mean one id. */
static ts_status add_mask(const ts_gguf_source *s)
{
    static const char plain[] = "tokenizer.ggml.mask_token_id";
    char key[TS_GGUF_KEY];
    const ts_gguf_value *own = ts_gguf_own(s->g, "mask_token_id", key), *other = ts_gguf_get(s->g, plain);
    int64_t id = 0, same = 0;
    if (own == NULL && other == NULL)
        return ts_gguf_bad(s, key, "missing, and so is tokenizer.ggml.mask_token_id");
    ts_status status = ts_gguf_whole(s->g, own != NULL ? own : other, 0, &id, s->err);
    if (status == TS_OK)
        status = ts_gguf_whole(s->g, other != NULL ? other : own, 0, &same, s->err);
    if (status == TS_OK && id != same)
        return ts_gguf_bad(s, key, "differs from tokenizer.ggml.mask_token_id");
    cJSON_AddNumberToObject(s->o, "mask_token_id", (double)id);
    return status;
}

/* The file names layers whose input is tapped, the config those whose output is: the ones before. */
static ts_status add_taps(const ts_gguf_source *s)
{
    char key[TS_GGUF_KEY];
    const ts_gguf_value *v = ts_gguf_own(s->g, "target_layers", key);
    if (v == NULL)
        return ts_gguf_bad(s, key, "missing");
    if (!v->array || v->count > MOST_LAYERS)
        return ts_gguf_bad(s, key, "must be an array of layers");
    cJSON *list = cJSON_AddArrayToObject(s->o, "target_layer_ids");
    for (uint64_t i = 0; i < v->count; i++) {
        int64_t input = 0;
        ts_status status = ts_gguf_whole(s->g, v, i, &input, s->err);
        if (status != TS_OK)
            return status;
        if (input < 1)
            return ts_gguf_bad(s, key, "holds a 0: the first layer's input is no layer's output");
        cJSON_AddItemToArray(list, cJSON_CreateNumber((double)(input - 1)));
    }
    return TS_OK;
}

/* Without a window every layer sees all; with one the pattern says which slide. */
static ts_status add_windows(const ts_gguf_source *s)
{
    char window_key[TS_GGUF_KEY], key[TS_GGUF_KEY];
    const ts_gguf_value *window = ts_gguf_own(s->g, "attention.sliding_window", window_key);
    const ts_gguf_value *v = ts_gguf_own(s->g, "attention.sliding_window_pattern", key);
    ts_status status = TS_OK;
    if (window != NULL && v == NULL)
        return ts_gguf_bad(s, key, "missing, but there is a sliding window");
    if (window != NULL && (!v->array || v->kind != TS_GGUF_BOOL || v->count != (uint64_t)s->layers))
        return ts_gguf_bad(s, key, "must be an array of booleans, one for each layer");
    cJSON *list = cJSON_AddArrayToObject(s->o, "layer_types");
    for (int64_t i = 0; i < s->layers; i++) {
        const bool slides = window != NULL && ts_gguf_number(v, (uint64_t)i) > 0;
        cJSON_AddItemToArray(list, cJSON_CreateString(slides ? "sliding_attention" : "full_attention"));
    }
    if (window != NULL)
        status = ts_gguf_add_ints(s, &(ts_gguf_member){"attention.sliding_window", "sliding_window", false}, 1);
    return status;
}

static ts_status add_causal(const ts_gguf_source *s)
{
    char key[TS_GGUF_KEY];
    const ts_gguf_value *v = ts_gguf_own(s->g, "attention.causal", key);
    if (v == NULL)
        return TS_OK;
    if (v->array || v->kind != TS_GGUF_BOOL)
        return ts_gguf_bad(s, key, "must be true or false");
    cJSON_AddBoolToObject(s->o, "is_causal", ts_gguf_number(v, 0) > 0);
    return TS_OK;
}

/* A drafter borrows the target's embedding, and may say nothing of its size. */
static ts_status add_vocabulary(const ts_gguf_source *s, const ts_config *target)
{
    const ts_tensor *codebook = ts_gguf_find(s->g, "selector_predecessor.weight");
    int64_t n = codebook != NULL && codebook->ndim == 2 ? codebook->dim[0] : target->V;
    ts_status status = ts_gguf_opt_int(s->g, "vocab_size", &n, s->err);
    cJSON_AddNumberToObject(s->o, "vocab_size", (double)n);
    return status;
}

/* What would change the function and has no place in the drafter. */
static ts_status check_switches(const ts_gguf_source *s)
{
    static const char *const unknown[] = {"final_logit_softcapping",
                                          "attn_logit_softcapping",
                                          "rope.scaling.type",
                                          "embedding_scale",
                                          "logit_scale",
                                          "expert_count"};
    char key[TS_GGUF_KEY];
    int64_t D = 0, Dv = 0, R = 0;
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        if (ts_gguf_own(s->g, unknown[i], key) != NULL)
            return ts_gguf_bad(s, key, "is not supported");
    ts_status status = ts_gguf_need_int(s, "attention.key_length", &D);
    if (status == TS_OK)
        status = ts_gguf_need_int(s, "attention.value_length", &Dv);
    if (status == TS_OK && Dv != D)
        return ts_gguf_bad(s, "attention.value_length",
                           "differs from attention.key_length, which is not supported");
    R = D;
    if (status == TS_OK)
        status = ts_gguf_opt_int(s->g, "rope.dimension_count", &R, s->err);
    if (status == TS_OK && R != D)
        return ts_gguf_bad(s, "rope.dimension_count", "differs from attention.key_length, which is not supported");
    return status;
}

static ts_status add_sizes(ts_gguf_source *s, const ts_config *target)
{
    static const ts_gguf_member member[] = {
        {"block_count", "num_hidden_layers", false},
        {"embedding_length", "hidden_size", false},
        {"feed_forward_length", "intermediate_size", false},
        {"attention.head_count", "num_attention_heads", false},
        {"attention.head_count_kv", "num_key_value_heads", false},
        {"attention.key_length", "head_dim", false},
        {"block_size", "block_size", false},
    };
    static const ts_gguf_member second[] = {
        {"conv_kernel_size", "conv_kernel_size", false},
        {"conv_group_size", "conv_group_size", false},
        {"selector_rank", "selector_rank", false},
        {"selector_top_k", "selector_top_k", false},
    };
    int64_t slots = 0;
    ts_status status = ts_gguf_add_ints(s, member, sizeof member / sizeof *member);
    if (status == TS_OK)
        status = ts_gguf_need_int(s, "block_count", &s->layers);
    if (status == TS_OK && s->layers > MOST_LAYERS)
        return ts_gguf_bad(s, "block_count", "more than 4096 blocks");
    if (status == TS_OK)
        status = ts_gguf_opt_int(s->g, "selector_top_k", &slots, s->err);
    if (status == TS_OK && slots > 0)
        status = ts_gguf_add_ints(s, second, sizeof second / sizeof *second);
    const char *name = slots > 0 ? "DFlash2DraftModel" : "DFlashDraftModel";
    cJSON_AddItemToObject(s->o, "architectures", cJSON_CreateStringArray(&name, 1));
    return status == TS_OK ? add_vocabulary(s, target) : status;
}

static ts_status add_all(ts_gguf_source *s, const ts_config *target)
{
    ts_status status = ts_gguf_architecture(s->g, s->name, s->err);
    if (status == TS_OK && strcmp(s->name, "dflash") != 0)
        return ts_fail(s->err, TS_BAD, ts_gguf_path(s->g), "general.architecture",
                       "\"%s\" is no drafter; dflash is", s->name);
    if (status == TS_OK)
        status = check_switches(s);
    if (status == TS_OK)
        status = add_sizes(s, target);
    if (status == TS_OK)
        status = ts_gguf_add_real(s, "attention.layer_norm_rms_epsilon", "rms_norm_eps");
    if (status == TS_OK)
        status = ts_gguf_add_real(s, "rope.freq_base", "rope_theta");
    if (status == TS_OK)
        status = add_windows(s);
    if (status == TS_OK)
        status = add_causal(s);
    if (status == TS_OK)
        status = add_taps(s);
    return status == TS_OK ? add_mask(s) : status;
}

ts_status ts_gguf_dflash_config(const ts_gguf *g, const ts_config *target, cJSON **out, ts_error *err)
{
    ts_gguf_source s = {.g = g, .o = cJSON_CreateObject(), .err = err};
    if (s.o == NULL)
        return ts_no_memory(err, 0);
    ts_status status = add_all(&s, target);
    if (status == TS_OK)
        *out = s.o;
    else
        cJSON_Delete(s.o);
    return status;
}
