/* config.json: what is read is checked, what would change the function and is not known is refused. What every
 * family has, and Qwen's; Kimi's is in config_kimi.c, experts in config_moe.c. */
#include "config/config_source.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "config/gguf_config.h"
#include "config/quant.h"
#include "format/json.h"

enum { DEFAULT_INTERVAL = 4 };

static const struct {
    const char *type;
    ts_family family;
    bool moe;
} types[] = {
    {"qwen3_5", TS_FAMILY_QWEN35, false},    {"qwen3_5_text", TS_FAMILY_QWEN35, false},
    {"qwen3_5_moe", TS_FAMILY_QWEN35, true}, {"qwen3_5_moe_text", TS_FAMILY_QWEN35, true},
    {"qwen3_next", TS_FAMILY_NEXT, true},    {"kimi_linear", TS_FAMILY_KIMI, true},
};

const cJSON *ts_config_item(const cJSON *o, const char *key)
{
    const cJSON *i = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsNull(i) ? NULL : i;
}

ts_status ts_config_bad(const ts_config_source *s, const char *key, const char *reason)
{
    return ts_fail(s->err, TS_BAD, s->file, key, "%s", reason);
}

static ts_status find_text(source *s)
{
    if (!cJSON_IsObject(s->root))
        return bad(s, NULL, "must be a JSON object");
    const cJSON *text = item(s->root, "text_config");
    if (text != NULL && !cJSON_IsObject(text))
        return bad(s, "text_config", "must be an object");
    s->text = text != NULL ? text : s->root;
    return TS_OK;
}

static ts_status read_one_type(const source *s, const cJSON *o, ts_config *c, bool *moe)
{
    const char *type;
    if (item(o, "model_type") == NULL)
        return TS_OK;
    ts_status status = ts_json_string(s->file, o, "model_type", &type, s->err);
    if (status != TS_OK)
        return status;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i].type) == 0) {
            snprintf(c->model_type, sizeof c->model_type, "%s", type);
            c->family = types[i].family;
            *moe = types[i].moe;
            return TS_OK;
        }
    return ts_fail(s->err, TS_BAD, s->file, "model_type",
                   "\"%.60s\" is not supported; qwen3_5, qwen3_5_moe, qwen3_next and kimi_linear are", type);
}

/* The text part's own type is the one kept; both must be known, and of one kind. */
static ts_status read_type(const source *s, ts_config *c, bool *moe)
{
    ts_status status = read_one_type(s, s->root, c, moe);
    const bool named = c->model_type[0] != '\0', was_moe = *moe;
    const ts_family family = c->family;
    if (status == TS_OK && s->text != s->root)
        status = read_one_type(s, s->text, c, moe);
    if (status == TS_OK && c->model_type[0] == '\0')
        return bad(s, "model_type", "missing");
    if (status == TS_OK && named && (c->family != family || *moe != was_moe))
        return bad(s, "model_type", "of the file and of its text_config are of different models");
    return status;
}

ts_status ts_config_dims(const source *s, const ts_config_dim *dim, size_t n)
{
    ts_status status = TS_OK;
    for (size_t i = 0; i < n && status == TS_OK; i++)
        status = ts_json_int(s->file, s->text, dim[i].key, 1, dim[i].most, dim[i].out, s->err);
    return status;
}

static ts_status read_dims(const source *s, ts_config *c)
{
    const ts_config_dim dim[] = {
        {"vocab_size", MAX_DIM, &c->V},
        {"hidden_size", MAX_DIM, &c->C},
        {"num_hidden_layers", TS_MAX_LAYERS, &c->layers},
        {"num_attention_heads", MAX_DIM, &c->Hq},
        {"num_key_value_heads", MAX_DIM, &c->Hkv},
        {"head_dim", MAX_DIM, &c->D},
        {"linear_num_key_heads", MAX_DIM, &c->Hk},
        {"linear_num_value_heads", MAX_DIM, &c->Hv},
        {"linear_key_head_dim", MAX_DIM, &c->Dk},
        {"linear_value_head_dim", MAX_DIM, &c->Dv},
        {"linear_conv_kernel_dim", MAX_DIM, &c->W},
        {"max_position_embeddings", MAX_POSITIONS, &c->max_positions},
    };
    return ts_config_dims(s, dim, sizeof dim / sizeof *dim);
}

/* Every product that sizes a row fits in 31 bits. So those of a row with a number of rows fit in 63 with the bytes
 * of an element: a state and a matrix have at most MAX_DIM rows, a cache and a pass at most MAX_POSITIONS. */
static ts_status check_products(const source *s, const ts_config *c)
{
    const int64_t most = INT32_MAX;
    if (c->Hq % c->Hkv != 0)
        return bad(s, "num_attention_heads", "must be a multiple of num_key_value_heads");
    if (c->Hv % c->Hk != 0)
        return bad(s, "linear_num_value_heads", "must be a multiple of linear_num_key_heads");
    if (2 * c->Hq * c->D > most)
        return bad(s, "head_dim", "2 * num_attention_heads * head_dim exceeds 2^31");
    if (2 * c->Hk * c->Dk + c->Hv * c->Dv > most)
        return bad(s, "linear_value_head_dim", "the linear attention's channels exceed 2^31");
    if ((2 * c->Hk * c->Dk + c->Hv * c->Dv) * c->W > most)
        return bad(s, "linear_conv_kernel_dim", "the convolution's weights exceed 2^31");
    return TS_OK;
}

ts_status ts_config_rope(const source *s, const cJSON **rope)
{
    *rope = item(s->text, "rope_parameters");
    const char *key = "rope_parameters";
    if (*rope == NULL) {
        *rope = item(s->text, "rope_scaling");
        key = "rope_scaling";
    }
    if (*rope == NULL)
        return TS_OK;
    if (!cJSON_IsObject(*rope))
        return bad(s, key, "must be an object");
    const char *const names[] = {"rope_type", "type"};
    for (size_t i = 0; i < 2; i++) {
        const char *type;
        if (item(*rope, names[i]) == NULL)
            continue;
        ts_status status = ts_json_string(s->file, *rope, names[i], &type, s->err);
        if (status != TS_OK)
            return status;
        if (strcmp(type, "default") != 0)
            return ts_fail(s->err, TS_BAD, s->file, names[i], "\"%.60s\" is not supported; \"default\" is", type);
    }
    return TS_OK;
}

static ts_status read_rope(const source *s, ts_config *c)
{
    const cJSON *rope;
    double partial = 0;
    ts_status status = ts_config_rope(s, &rope);
    if (status != TS_OK)
        return status;
    /* A top-level copy of a key may be stale: the rope object wins. */
    const cJSON *from = item(rope, "rope_theta") != NULL ? rope : s->text;
    status = ts_json_double(s->file, from, "rope_theta", &c->theta, s->err);
    if (status != TS_OK)
        return status;
    from = item(rope, "partial_rotary_factor") != NULL ? rope : s->text;
    status = ts_json_double(s->file, from, "partial_rotary_factor", &partial, s->err);
    if (status != TS_OK)
        return status;
    if (!(c->theta > 1))
        return bad(s, "rope_theta", "must be greater than 1");
    if (!(partial > 0 && partial <= 1))
        return bad(s, "partial_rotary_factor", "must be greater than 0 and at most 1");
    c->R = (int64_t)((double)c->D * partial);
    if (c->R < 2 || c->R % 2 != 0)
        return ts_fail(s->err, TS_BAD, s->file, "partial_rotary_factor",
                       "gives %lld rotary dims, must be even and at least 2", (long long)c->R);
    return TS_OK;
}

ts_status ts_config_layer_list(const source *s, const cJSON *list, ts_config *c)
{
    int64_t n = 0;
    if (!cJSON_IsArray(list))
        return bad(s, "layer_types", "must be a list");
    for (const cJSON *i = list->child; i != NULL; i = i->next, n++) {
        const char *type = cJSON_GetStringValue(i);
        bool full = type != NULL && strcmp(type, "full_attention") == 0;
        if (type == NULL || (!full && strcmp(type, "linear_attention") != 0))
            return ts_fail(s->err, TS_BAD, s->file, "layer_types",
                           "entry %lld is \"%.60s\"; linear_attention and full_attention are known", (long long)n,
                           type != NULL ? type : "(not a string)");
        if (n < c->layers)
            c->full[n] = full;
    }
    if (n != c->layers)
        return ts_fail(s->err, TS_BAD, s->file, "layer_types", "has %lld entries for %lld layers", (long long)n,
                       (long long)c->layers);
    return TS_OK;
}

static ts_status read_layers(const source *s, ts_config *c)
{
    const cJSON *list = item(s->text, "layer_types");
    if (list != NULL)
        return ts_config_layer_list(s, list, c);
    int64_t interval = DEFAULT_INTERVAL;
    ts_status status = ts_json_opt_int(s->file, s->text, "full_attention_interval", 1, MAX_DIM, &interval, s->err);
    for (int64_t i = 0; i < c->layers; i++)
        c->full[i] = (i + 1) % interval == 0;
    return status;
}

ts_status ts_config_name(const source *s, const char *key, const char *one, const char *other)
{
    const char *value;
    if (item(s->text, key) == NULL)
        return TS_OK;
    ts_status status = ts_json_string(s->file, s->text, key, &value, s->err);
    if (status != TS_OK)
        return status;
    if (strcmp(value, one) != 0 && strcmp(value, other) != 0)
        return ts_fail(s->err, TS_BAD, s->file, key, "\"%.60s\" is not supported; \"%s\" is", value, one);
    return TS_OK;
}

/* Switches that would change the function: only the values of the published models. */
static ts_status check_switches(const source *s)
{
    bool bias = false, gate = true;
    ts_status status = ts_json_opt_bool(s->file, s->text, "attention_bias", &bias, s->err);
    if (status == TS_OK)
        status = ts_json_opt_bool(s->file, s->text, "attn_output_gate", &gate, s->err);
    if (status == TS_OK)
        status = ts_config_name(s, "hidden_act", "silu", "silu");
    /* The z gate of linear attention; swish and silu are two names of it. */
    if (status == TS_OK)
        status = ts_config_name(s, "output_gate_type", "swish", "silu");
    if (status != TS_OK)
        return status;
    if (bias)
        return bad(s, "attention_bias", "true is not supported");
    return gate ? TS_OK : bad(s, "attn_output_gate", "false is not supported");
}

static ts_status read_scalars(const source *s, ts_config *c)
{
    ts_status status = ts_json_double(s->file, s->text, "rms_norm_eps", &c->eps, s->err);
    if (status != TS_OK)
        return status;
    /* Smaller is zero in f32. */
    if (!(c->eps >= 1e-30 && c->eps <= 1))
        return bad(s, "rms_norm_eps", "must be positive, within 1e-30..1");
    status = ts_json_opt_bool(s->file, s->root, "tie_word_embeddings", &c->tied, s->err);
    return status == TS_OK ? ts_json_opt_bool(s->file, s->text, "tie_word_embeddings", &c->tied, s->err) : status;
}

/* The defaults only: who binds weights reads the overrides (config/quant.h). */
static ts_status read_quant(const source *s, ts_config *c)
{
    ts_quant q;
    ts_status status = ts_quant_read(s->file, s->root, &q, s->err);
    if (status != TS_OK)
        return status;
    c->quant_bits = q.all.bits;
    c->quant_group = q.all.group;
    ts_quant_free(&q);
    return TS_OK;
}

static ts_status add_stop(const source *s, const cJSON *i, ts_config *c)
{
    double id = cJSON_IsNumber(i) ? i->valuedouble : -1;
    if (!(id >= 0 && id < (double)c->V) || floor(id) != id)
        return ts_fail(s->err, TS_BAD, s->file, "eos_token_id", "must hold integers of 0..%lld",
                       (long long)c->V - 1);
    if (ts_config_is_stop(c, (int32_t)id))
        return TS_OK;
    if (c->n_stop == TS_MAX_STOPS)
        return ts_fail(s->err, TS_BAD, s->file, "eos_token_id", "more than %d stop ids", TS_MAX_STOPS);
    c->stop[c->n_stop++] = (int32_t)id;
    return TS_OK;
}

static ts_status read_stops(const source *s, const cJSON *o, ts_config *c)
{
    const cJSON *eos = item(o, "eos_token_id");
    if (eos == NULL)
        return TS_OK;
    if (!cJSON_IsArray(eos))
        return add_stop(s, eos, c);
    ts_status status = TS_OK;
    for (const cJSON *i = eos->child; i != NULL && status == TS_OK; i = i->next)
        status = add_stop(s, i, c);
    return status;
}

static ts_status read_qwen(const source *s, ts_config *c)
{
    ts_status status = check_switches(s);
    if (status == TS_OK)
        status = read_dims(s, c);
    if (status == TS_OK)
        status = check_products(s, c);
    if (status == TS_OK)
        status = read_rope(s, c);
    return status == TS_OK ? read_layers(s, c) : status;
}

/* Qwen's sparse models have no dense layer unless they name some: the key may then be absent. */
static ts_status read_intermediate(const source *s, bool moe, ts_config *c)
{
    if (moe && c->family != TS_FAMILY_KIMI)
        return ts_json_opt_int(s->file, s->text, "intermediate_size", 1, MAX_DIM, &c->I, s->err);
    return ts_json_int(s->file, s->text, "intermediate_size", 1, MAX_DIM, &c->I, s->err);
}

static ts_status read_config(source *s, ts_config *c)
{
    bool moe = false;
    ts_status status = find_text(s);
    if (status == TS_OK)
        status = read_type(s, c, &moe);
    if (status == TS_OK)
        status = read_intermediate(s, moe, c);
    if (status == TS_OK)
        status = c->family == TS_FAMILY_KIMI ? ts_config_kimi(s, c) : read_qwen(s, c);
    if (status == TS_OK && moe)
        status = ts_config_moe(s, c);
    if (status == TS_OK)
        status = read_scalars(s, c);
    if (status == TS_OK)
        status = read_quant(s, c);
    if (status == TS_OK)
        status = read_stops(s, s->text, c);
    return status == TS_OK ? read_stops(s, s->root, c) : status;
}

/* Consumes json. */
static ts_status take_json(const char *path, cJSON *json, ts_config *out, ts_error *err)
{
    ts_config *c = calloc(1, sizeof *c);
    source s = {.file = path, .root = json, .err = err};
    ts_status status = c != NULL ? read_config(&s, c) : ts_no_memory(err, sizeof *c);
    if (status == TS_OK)
        *out = *c;
    free(c);
    cJSON_Delete(json);
    return status;
}

ts_status ts_config_load_file(const char *path, ts_config *out, ts_error *err)
{
    cJSON *json;
    ts_status status = ts_json_load(path, &json, err);
    return status == TS_OK ? take_json(path, json, out, err) : status;
}

static ts_status load_gguf(const char *path, ts_config *out, ts_error *err)
{
    ts_gguf *g;
    cJSON *json;
    ts_status status = ts_gguf_open(path, &g, err);
    if (status != TS_OK)
        return status;
    status = ts_gguf_config(g, &json, err);
    ts_gguf_close(g);
    return status == TS_OK ? take_json(path, json, out, err) : status;
}

/* Only its stop ids: how to sample is the caller's business. */
static ts_status read_generation(const char *path, ts_config *c, ts_error *err)
{
    struct stat st;
    if (lstat(path, &st) != 0 && errno == ENOENT)
        return TS_OK; /* optional; but one that is there must be readable */
    cJSON *json;
    ts_status status = ts_json_load(path, &json, err);
    if (status != TS_OK)
        return status;
    source s = {.file = path, .root = json, .err = err};
    status = cJSON_IsObject(json) ? read_stops(&s, json, c) : bad(&s, NULL, "must be a JSON object");
    cJSON_Delete(json);
    return status;
}

ts_status ts_config_load(const char *dir, ts_config *out, ts_error *err)
{
    if (ts_gguf_is(dir))
        return load_gguf(dir, out, err);
    const size_t size = strlen(dir) + 32;
    char *path = malloc(size);
    if (path == NULL)
        return ts_no_memory(err, size);
    snprintf(path, size, "%s/config.json", dir);
    ts_status status = ts_config_load_file(path, out, err);
    snprintf(path, size, "%s/generation_config.json", dir);
    if (status == TS_OK)
        status = read_generation(path, out, err);
    free(path);
    return status;
}

bool ts_config_is_stop(const ts_config *c, int32_t id)
{
    for (int i = 0; i < c->n_stop; i++)
        if (c->stop[i] == id)
            return true;
    return false;
}

bool ts_config_is_dense(const ts_config *c)
{
    return c->family == TS_FAMILY_QWEN35 && c->moe.E == 0;
}

bool ts_config_has_linear(const ts_config *c)
{
    for (int64_t i = 0; i < c->layers; i++)
        if (!c->full[i])
            return true;
    return false;
}
