#include "convert.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert_parts.h"
#include "format/json.h"
#include "format/tokenizer.h"
#include "format/tokenizer_parts.h"

enum { PATH = 4096, KEY = 96, MOST_STOPS = 3 };

#define TOKENIZER "tokenizer.ggml."

const char *ts_convert_architecture(const ts_config *c)
{
    return c->family == TS_FAMILY_KIMI   ? "kimi-linear"
           : c->family == TS_FAMILY_NEXT ? "qwen3next"
           : c->moe.E > 0                ? "qwen35moe"
                                         : "qwen35";
}

/* The architecture's key of that name. */
static const char *own(const ts_config *c, const char *name, char out[KEY])
{
    snprintf(out, KEY, "%s.%s", ts_convert_architecture(c), name);
    return out;
}

static void put_sections(const ts_config *c, ts_gguf_out *out)
{
    char key[KEY];
    ts_gguf_put_array(out, own(c, "rope.dimension_sections", key), TS_GGUF_I32, 4);
    for (int i = 0; i < 4; i++)
        ts_gguf_put_element(out, TS_GGUF_I32, i < 3 ? (uint64_t)((c->R / 2 + 2 - i) / 3) : 0);
}

/* By its interval if it has one. */
static void put_layers(const ts_config *c, ts_gguf_out *out)
{
    char key[KEY];
    int64_t interval = 1;
    bool regular = true;
    while (interval <= c->layers && !c->full[interval - 1])
        interval++;
    for (int64_t i = 0; i < c->layers; i++)
        regular = regular && c->full[i] == ((i + 1) % interval == 0);
    if (regular) {
        ts_gguf_put_u32(out, own(c, "full_attention_interval", key), (uint32_t)interval);
        return;
    }
    ts_gguf_put_array(out, own(c, "attention.recurrent_layers", key), TS_GGUF_BOOL, (uint64_t)c->layers);
    for (int64_t i = 0; i < c->layers; i++)
        ts_gguf_put_element(out, TS_GGUF_BOOL, !c->full[i]);
}

typedef struct {
    const char *key;
    int64_t value;
} number;

/* A size of nothing has no key. */
static void put_numbers(const ts_config *c, const number *list, size_t n, ts_gguf_out *out)
{
    char key[KEY];
    for (size_t i = 0; i < n; i++)
        if (list[i].value != 0)
            ts_gguf_put_u32(out, own(c, list[i].key, key), (uint32_t)list[i].value);
}

static void put_qwen(const ts_config *c, ts_gguf_out *out)
{
    char key[KEY];
    const bool sparse = c->family == TS_FAMILY_QWEN35 && c->moe.E > 0;
    const number list[] = {
        {"attention.head_count_kv", c->Hkv},
        {"attention.key_length", c->D},
        {"attention.value_length", c->D},
        {"rope.dimension_count", c->R},
        {"ssm.state_size", c->Dk},
        {"ssm.group_count", c->Hk},
        {"ssm.time_step_rank", c->Hv},
        {"ssm.inner_size", c->Hv * c->Dv},
        {"feed_forward_length", sparse ? 0 : c->I},
        {"expert_shared_feed_forward_length", c->moe.shared},
    };
    put_numbers(c, list, sizeof list / sizeof *list, out);
    ts_gguf_put_f32(out, own(c, "rope.freq_base", key), (float)c->theta);
    if (c->family == TS_FAMILY_QWEN35)
        put_sections(c, out);
    put_layers(c, out);
}

/* Attention as if its up-projections were absorbed: one key head of latent and shared part, none in linear layers.
 */
static void put_kimi(const ts_config *c, ts_gguf_out *out)
{
    char key[KEY];
    const ts_moe_config *m = &c->moe;
    const bool grouped = m->groups > 1;
    int64_t dense = 0;
    while (dense < c->layers && !m->layer[dense])
        dense++;
    const number list[] = {
        {"attention.key_length", c->rank + c->Dr},
        {"attention.value_length", c->rank},
        {"attention.key_length_mla", c->Dn + c->Dr},
        {"attention.value_length_mla", c->Dm},
        {"attention.kv_lora_rank", c->rank},
        {"rope.dimension_count", c->Dr},
        {"kda.head_dim", c->Dk},
        {"feed_forward_length", c->I},
        {"expert_shared_count", m->shared / m->I},
        {"expert_group_count", grouped ? m->groups : 0},
        {"expert_group_used_count", grouped ? m->topk_groups : 0},
        {"expert_gating_func", 2}, /* sigmoid */
    };
    put_numbers(c, list, sizeof list / sizeof *list, out);
    ts_gguf_put_u32(out, own(c, "leading_dense_block_count", key), (uint32_t)dense);
    ts_gguf_put_f32(out, own(c, "expert_weights_scale", key), (float)m->scale);
    ts_gguf_put_bool(out, own(c, "expert_weights_norm", key), true);
    ts_gguf_put_array(out, own(c, "attention.head_count_kv", key), TS_GGUF_I32, (uint64_t)c->layers);
    for (int64_t i = 0; i < c->layers; i++)
        ts_gguf_put_element(out, TS_GGUF_I32, c->full[i]);
}

static void put_model(const ts_config *c, ts_gguf_out *out)
{
    char key[KEY];
    const number list[] = {
        {"block_count", c->layers}, {"context_length", c->max_positions}, {"embedding_length", c->C},
        {"vocab_size", c->V},       {"attention.head_count", c->Hq},      {"ssm.conv_kernel", c->W},
        {"expert_count", c->moe.E}, {"expert_used_count", c->moe.k},      {"expert_feed_forward_length", c->moe.I},
    };
    put_numbers(c, list, sizeof list / sizeof *list, out);
    ts_gguf_put_f32(out, own(c, "attention.layer_norm_rms_epsilon", key), (float)c->eps);
    if (c->family == TS_FAMILY_KIMI)
        put_kimi(c, out);
    else
        put_qwen(c, out);
}

typedef struct {
    const char *text;
    int type; /* 1 normal, 3 control, 4 user defined; 0: none has the id */
} token;

static ts_status note(token *list, int64_t V, const char *file, const char *text, double id, int type,
                      ts_error *err)
{
    if (!(id >= 0 && id < (double)V))
        return ts_fail(err, TS_BAD, file, text, "id %.0f, but the model has a vocabulary of %lld", id,
                       (long long)V);
    list[(size_t)id] = (token){text, type};
    return TS_OK;
}

/* The tokenizer has been opened: members have their types. */
static ts_status collect(const cJSON *json, const char *file, token *list, int64_t V, ts_error *err)
{
    const cJSON *i;
    const cJSON *model = cJSON_GetObjectItemCaseSensitive(json, "model");
    ts_status status = TS_OK;
    cJSON_ArrayForEach (i, cJSON_GetObjectItemCaseSensitive(model, "vocab"))
        status = status ? status : note(list, V, file, i->string, i->valuedouble, 1, err);
    cJSON_ArrayForEach (i, cJSON_GetObjectItemCaseSensitive(json, "added_tokens")) {
        bool special = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(i, "special"));
        const char *text = cJSON_GetObjectItemCaseSensitive(i, "content")->valuestring;
        double id = cJSON_GetObjectItemCaseSensitive(i, "id")->valuedouble;
        status = status ? status : note(list, V, file, text, id, special ? 3 : 4, err);
    }
    return status;
}

static void put_tokens(const token *list, int64_t V, ts_gguf_out *out)
{
    char none[32];
    ts_gguf_put_array(out, TOKENIZER "tokens", TS_GGUF_STRING, (uint64_t)V);
    for (int64_t i = 0; i < V; i++) {
        snprintf(none, sizeof none, "[PAD%lld]", (long long)i);
        ts_gguf_put_string(out, list[i].type ? list[i].text : none);
    }
    ts_gguf_put_array(out, TOKENIZER "token_type", TS_GGUF_I32, (uint64_t)V);
    for (int64_t i = 0; i < V; i++)
        ts_gguf_put_element(out, TS_GGUF_I32, list[i].type ? (uint64_t)list[i].type : 5);
}

static ts_status put_merges(const cJSON *json, ts_gguf_out *out, ts_error *err)
{
    const cJSON *i, *model = cJSON_GetObjectItemCaseSensitive(json, "model");
    const cJSON *merges = cJSON_GetObjectItemCaseSensitive(model, "merges");
    ts_gguf_put_array(out, TOKENIZER "merges", TS_GGUF_STRING, (uint64_t)cJSON_GetArraySize(merges));
    cJSON_ArrayForEach (i, merges) {
        const char *left = cJSON_IsString(i) ? i->valuestring : i->child->valuestring;
        const char *right = cJSON_IsString(i) ? "" : i->child->next->valuestring;
        size_t size = strlen(left) + strlen(right) + 2;
        char *text = malloc(size);
        if (!text)
            return ts_no_memory(err, size);
        snprintf(text, size, "%s%s%s", left, cJSON_IsString(i) ? "" : " ", right);
        ts_gguf_put_string(out, text);
        free(text);
    }
    return TS_OK;
}

static ts_status put_tokenizer(const cJSON *json, const char *file, const ts_config *c, ts_gguf_out *out,
                               ts_error *err)
{
    const char *pre = ts_tokenizer_gguf_pre(json);
    if (!pre)
        return ts_fail(err, TS_BAD, file, "pre_tokenizer",
                       "its pattern has no name in GGUF; those of qwen35 and qwen2 do");
    token *list = calloc((size_t)c->V, sizeof *list);
    if (!list)
        return ts_no_memory(err, (size_t)c->V * sizeof *list);
    ts_status status = collect(json, file, list, c->V, err);
    if (!status) {
        ts_gguf_put_text(out, TOKENIZER "model", "gpt2");
        ts_gguf_put_text(out, TOKENIZER "pre", pre);
        ts_gguf_put_bool(out, TOKENIZER "add_bos_token", false);
        put_tokens(list, c->V, out);
        status = put_merges(json, out, err);
    }
    free(list);
    return status;
}

static ts_status put_stops(const ts_config *c, const char *dir, ts_gguf_out *out, ts_error *err)
{
    static const char *const key[MOST_STOPS] = {TOKENIZER "eos_token_id", TOKENIZER "eot_token_id",
                                                TOKENIZER "eom_token_id"};
    if (c->n_stop > MOST_STOPS)
        return ts_fail(err, TS_BAD, dir, "eos_token_id", "%d ids; GGUF has keys for %d", c->n_stop, MOST_STOPS);
    for (int i = 0; i < c->n_stop; i++)
        ts_gguf_put_u32(out, key[i], (uint32_t)c->stop[i]);
    return TS_OK;
}

static ts_status load_json(const char *path, const ts_config *c, ts_gguf_out *out, ts_error *err)
{
    ts_tokenizer *t;
    cJSON *json;
    ts_status status = ts_tokenizer_open(path, &t, err); /* all its checks */
    if (status)
        return status;
    ts_tokenizer_close(t);
    status = ts_json_load(path, &json, err);
    if (status)
        return status;
    status = put_tokenizer(json, path, c, out, err);
    cJSON_Delete(json);
    return status;
}

/* tokenizer.json, or Kimi's own. A model with neither is for programs that feed it ids. */
static ts_status load_tokenizer(const char *dir, const ts_config *c, ts_gguf_out *out, ts_error *err)
{
    static const struct {
        const char *name;
        ts_status (*load)(const char *, const ts_config *, ts_gguf_out *, ts_error *);
    } file[] = {{"tokenizer.json", load_json}, {"tiktoken.model", ts_convert_tiktoken}};
    char path[PATH];
    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        if (snprintf(path, sizeof path, "%s/%s", dir, file[i].name) >= (int)sizeof path)
            return ts_fail(err, TS_BAD, dir, NULL, "path too long");
        if (access(path, F_OK) == 0 || errno != ENOENT)
            return file[i].load(path, c, out, err);
    }
    ts_gguf_put_text(out, TOKENIZER "model", "none");
    return TS_OK;
}

/* chat_template.jinja, as it is. */
static ts_status put_template(const char *dir, ts_gguf_out *out, ts_error *err)
{
    char path[PATH], *text = NULL;
    size_t size = 0;
    if (snprintf(path, sizeof path, "%s/chat_template.jinja", dir) >= (int)sizeof path)
        return ts_fail(err, TS_BAD, dir, NULL, "path too long");
    if (access(path, F_OK) && errno == ENOENT)
        return TS_OK;
    ts_status status = ts_file_read(path, 1 << 20, &text, &size, err);
    if (!status)
        status = ts_utf8_check(text, size, path, NULL, err);
    if (!status)
        ts_gguf_put_text(out, "tokenizer.chat_template", text);
    free(text);
    return status;
}

static const char *base_name(const char *dir)
{
    const char *slash = strrchr(dir, '/');
    return slash && slash[1] ? slash + 1 : dir;
}

ts_status ts_convert_keys(const ts_weights *w, const char *dir, const ts_ggml_type *type, ts_gguf_out *out,
                          ts_error *err)
{
    ts_gguf_put_text(out, "general.architecture", ts_convert_architecture(&w->cfg));
    ts_gguf_put_text(out, "general.name", base_name(dir));
    ts_gguf_put_u32(out, "general.alignment", TS_GGUF_ALIGNMENT);
    ts_gguf_put_u32(out, "general.file_type", ts_convert_file_type(type));
    ts_gguf_put_u32(out, "general.quantization_version", 2);
    put_model(&w->cfg, out);
    ts_status status = load_tokenizer(dir, &w->cfg, out, err);
    if (!status)
        status = put_stops(&w->cfg, dir, out, err);
    return status ? status : put_template(dir, out, err);
}
