/* Metadata of GGUF files put into the words of config.json, so that one reader checks both. */
#include "config/gguf_source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY = TS_GGUF_KEY, MOST_LAYERS = 4096 };

enum { QWEN35 = 1, QWEN35MOE = 2, NEXT = 4, KIMI = 8, TILED = 3, QWEN = 7, MOE = 14, ALL = 15 };

static const struct {
    const char *name, *model_type;
    int arch;
} architectures[] = {
    {"qwen35", "qwen3_5_text", QWEN35},
    {"qwen35moe", "qwen3_5_moe_text", QWEN35MOE},
    {"qwen3next", "qwen3_next", NEXT},
    {"kimi-linear", "kimi_linear", KIMI},
};

typedef ts_gguf_source source;

ts_status ts_gguf_bad(const source *s, const char *key, const char *what)
{
    return ts_fail(s->err, TS_BAD, ts_gguf_path(s->g), key, "%s", what);
}

ts_status ts_gguf_architecture(const ts_gguf *g, char out[TS_GGUF_ARCH], ts_error *err)
{
    const char *key = "general.architecture";
    const ts_gguf_value *v = ts_gguf_get(g, key);
    size_t n;
    if (v == NULL || v->kind != TS_GGUF_STRING || v->array)
        return ts_fail(err, TS_BAD, ts_gguf_path(g), key, v == NULL ? "missing" : "must be a string");
    const unsigned char *at = v->data;
    const char *text = ts_gguf_text(&at, &n);
    if (n >= TS_GGUF_ARCH || memchr(text, '\0', n) != NULL)
        return ts_fail(err, TS_BAD, ts_gguf_path(g), key, "\"%.*s\" is not supported", (int)(n < 60 ? n : 60),
                       text);
    memcpy(out, text, n);
    out[n] = '\0';
    return TS_OK;
}

static ts_status find_architecture(source *s)
{
    ts_status status = ts_gguf_architecture(s->g, s->name, s->err);
    if (status != TS_OK)
        return status;
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++)
        if (strcmp(architectures[i].name, s->name) == 0) {
            s->arch = architectures[i].arch;
            cJSON_AddStringToObject(s->o, "model_type", architectures[i].model_type);
            return TS_OK;
        }
    return ts_fail(s->err, TS_BAD, ts_gguf_path(s->g), "general.architecture",
                   "\"%s\" is not supported; qwen35, qwen35moe, qwen3next and kimi-linear are", s->name);
}

const ts_gguf_value *ts_gguf_own(const ts_gguf *g, const char *name, char key[KEY])
{
    char arch[TS_GGUF_ARCH];
    if (ts_gguf_architecture(g, arch, NULL) != TS_OK)
        return NULL;
    snprintf(key, KEY, "%s.%s", arch, name);
    return ts_gguf_get(g, key);
}

ts_status ts_gguf_whole(const ts_gguf *g, const ts_gguf_value *v, uint64_t i, int64_t *out, ts_error *err)
{
    const bool real = v->kind == TS_GGUF_F32 || v->kind == TS_GGUF_F64 || v->kind == TS_GGUF_STRING;
    double x = real || i >= v->count ? -1 : ts_gguf_number(v, i);
    if (!(x >= 0 && x < 9007199254740992.0))
        return ts_fail(err, TS_BAD, ts_gguf_path(g), v->key, "must be a whole number of 0..2^53-1");
    *out = (int64_t)x;
    return TS_OK;
}

ts_status ts_gguf_opt_int(const ts_gguf *g, const char *name, int64_t *out, ts_error *err)
{
    char key[KEY];
    const ts_gguf_value *v = ts_gguf_own(g, name, key);
    if (v == NULL)
        return TS_OK;
    if (v->array)
        return ts_fail(err, TS_BAD, ts_gguf_path(g), key, "must be one number, not an array");
    return ts_gguf_whole(g, v, 0, out, err);
}

ts_status ts_gguf_need_int(const source *s, const char *name, int64_t *out)
{
    char key[KEY];
    if (ts_gguf_own(s->g, name, key) == NULL)
        return ts_gguf_bad(s, key, "missing");
    return ts_gguf_opt_int(s->g, name, out, s->err);
}

/* The decimal number that was meant: the shortest that is this f32. */
static double shortest(double x)
{
    char text[32];
    double y = x;
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        y = strtod(text, NULL);
        if ((float)y == (float)x)
            return y;
    }
    return x;
}

ts_status ts_gguf_add_real(const source *s, const char *name, const char *as)
{
    char key[KEY];
    const ts_gguf_value *v = ts_gguf_own(s->g, name, key);
    if (v == NULL)
        return ts_gguf_bad(s, key, "missing");
    if (v->array || (v->kind != TS_GGUF_F32 && v->kind != TS_GGUF_F64))
        return ts_gguf_bad(s, key, "must be an f32");
    double x = ts_gguf_number(v, 0);
    if (!isfinite(x))
        return ts_gguf_bad(s, key, "is not a finite number");
    cJSON_AddNumberToObject(s->o, as, v->kind == TS_GGUF_F32 ? shortest(x) : x);
    return TS_OK;
}

ts_status ts_gguf_add_ints(const source *s, const ts_gguf_member *m, size_t n)
{
    char key[KEY];
    ts_status status = TS_OK;
    for (size_t i = 0; i < n && status == TS_OK; i++) {
        int64_t x = 0;
        if (m[i].optional && ts_gguf_own(s->g, m[i].name, key) == NULL)
            continue;
        status = ts_gguf_need_int(s, m[i].name, &x);
        cJSON_AddNumberToObject(s->o, m[i].as, (double)x);
    }
    return status;
}

/* Numbers that go over as they are. */
static ts_status add_ints(const source *s)
{
    static const struct {
        ts_gguf_member member;
        int of; /* architectures that have it */
    } number[] = {
        {{"embedding_length", "hidden_size", false}, ALL},
        {{"feed_forward_length", "intermediate_size", false}, QWEN35},
        {{"feed_forward_length", "intermediate_size", true}, NEXT},
        {{"attention.head_count", "num_attention_heads", false}, ALL},
        {{"attention.key_length", "head_dim", false}, QWEN},
        {{"ssm.conv_kernel", "linear_conv_kernel_dim", false}, ALL},
        {{"ssm.state_size", "linear_key_head_dim", false}, QWEN},
        {{"ssm.group_count", "linear_num_key_heads", false}, QWEN},
        {{"ssm.time_step_rank", "linear_num_value_heads", false}, QWEN},
        {{"context_length", "max_position_embeddings", false}, ALL},
        {{"expert_count", "num_experts", false}, MOE},
        {{"expert_used_count", "num_experts_per_tok", false}, MOE},
        {{"expert_feed_forward_length", "moe_intermediate_size", false}, MOE},
        {{"expert_shared_feed_forward_length", "shared_expert_intermediate_size", false}, QWEN35MOE | NEXT},
    };
    ts_status status = TS_OK;
    for (size_t i = 0; i < sizeof number / sizeof *number && status == TS_OK; i++)
        if (number[i].of & s->arch)
            status = ts_gguf_add_ints(s, &number[i].member, 1);
    return status;
}

/* The trunk alone: block_count has the blocks of multi-token prediction too. */
static ts_status add_layers(source *s)
{
    int64_t blocks = 0, more = 0;
    ts_status status = ts_gguf_need_int(s, "block_count", &blocks);
    if (status == TS_OK)
        status = ts_gguf_opt_int(s->g, "nextn_predict_layers", &more, s->err);
    if (status != TS_OK)
        return status;
    s->layers = blocks - more;
    if (blocks > MOST_LAYERS || s->layers < 1)
        return ts_fail(s->err, TS_BAD, ts_gguf_path(s->g), "block_count",
                       "%lld blocks, %lld of them of multi-token prediction", (long long)blocks, (long long)more);
    cJSON_AddNumberToObject(s->o, "num_hidden_layers", (double)s->layers);
    return TS_OK;
}

/* recurrent_layers says it per layer; else every interval-th layer has full attention. */
static ts_status add_layer_types(const source *s)
{
    char key[KEY];
    int64_t interval = 4, is = 0;
    const ts_gguf_value *v = ts_gguf_own(s->g, "attention.recurrent_layers", key);
    ts_status status = ts_gguf_opt_int(s->g, "full_attention_interval", &interval, s->err);
    if (status == TS_OK && interval < 1)
        return ts_gguf_bad(s, "full_attention_interval", "must be at least 1");
    if (status == TS_OK && v != NULL && (!v->array || v->count < (uint64_t)s->layers))
        return ts_fail(s->err, TS_BAD, ts_gguf_path(s->g), key,
                       "must be an array with an entry for each of %lld layers", (long long)s->layers);
    cJSON *list = cJSON_AddArrayToObject(s->o, "layer_types");
    for (int64_t i = 0; i < s->layers && status == TS_OK; i++) {
        is = (i + 1) % interval != 0;
        if (v != NULL)
            status = ts_gguf_whole(s->g, v, (uint64_t)i, &is, s->err);
        cJSON_AddItemToArray(list, cJSON_CreateString(is ? "linear_attention" : "full_attention"));
    }
    return status;
}

ts_status ts_gguf_add_vocabulary(const source *s)
{
    const ts_tensor *embed = ts_gguf_find(s->g, "token_embd.weight");
    int64_t n = embed != NULL && embed->ndim == 2 ? embed->dim[0] : 0;
    ts_status status = ts_gguf_opt_int(s->g, "vocab_size", &n, s->err);
    cJSON_AddNumberToObject(s->o, "vocab_size", (double)n);
    cJSON_AddBoolToObject(s->o, "tie_word_embeddings", ts_gguf_find(s->g, "output.weight") == NULL);
    return status;
}

/* One number for all layers, or one per layer that is the same or 0 where there is no attention. */
static ts_status add_kv_heads(const source *s)
{
    char key[KEY];
    int64_t n = 0, heads = 0;
    const ts_gguf_value *v = ts_gguf_own(s->g, "attention.head_count_kv", key);
    if (v == NULL)
        return ts_gguf_bad(s, key, "missing");
    if (v->array && v->count < (uint64_t)s->layers)
        return ts_gguf_bad(s, key, "has fewer entries than there are layers");
    for (uint64_t i = 0; i < (v->array ? (uint64_t)s->layers : 1); i++) {
        ts_status status = ts_gguf_whole(s->g, v, i, &n, s->err);
        if (status != TS_OK)
            return status;
        if (n != 0 && heads != 0 && n != heads)
            return ts_gguf_bad(s, key, "differs between layers, which is not supported");
        heads = n != 0 ? n : heads;
    }
    cJSON_AddNumberToObject(s->o, "num_key_value_heads", (double)heads);
    return TS_OK;
}

/* The fraction that gives `rotary` dims again when it is multiplied by D and cut. */
static double fraction(int64_t rotary, int64_t D)
{
    double x = (double)rotary / (double)D;
    return (int64_t)((double)D * x) == rotary ? x : nextafter(x, 2);
}

/* The three sections of positions are one in text; they must fill the rotary pairs all the same. */
static ts_status check_sections(const source *s, int64_t rotary)
{
    char key[KEY];
    int64_t n = 0, pairs = 0;
    const ts_gguf_value *v = ts_gguf_own(s->g, "rope.dimension_sections", key);
    if (v == NULL)
        return s->arch & TILED ? ts_gguf_bad(s, key, "missing") : TS_OK;
    for (uint64_t i = 0; i < v->count; i++) {
        ts_status status = ts_gguf_whole(s->g, v, i, &n, s->err);
        if (status != TS_OK)
            return status;
        pairs += n < rotary ? n : rotary;
    }
    return pairs == rotary / 2 ? TS_OK : ts_gguf_bad(s, key, "its sum is not half of rope.dimension_count");
}

static ts_status add_rope(const source *s)
{
    int64_t D = 0, rotary = 0;
    ts_status status = ts_gguf_need_int(s, "attention.key_length", &D);
    if (status == TS_OK)
        status = ts_gguf_need_int(s, "rope.dimension_count", &rotary);
    if (status == TS_OK)
        status = check_sections(s, rotary);
    if (status != TS_OK)
        return status;
    if (D < 1 || rotary < 1 || rotary > D)
        return ts_gguf_bad(s, "rope.dimension_count", "must be positive and at most attention.key_length");
    cJSON_AddNumberToObject(s->o, "partial_rotary_factor", fraction(rotary, D));
    return ts_gguf_add_real(s, "rope.freq_base", "rope_theta");
}

/* Dims of linear attention that GGUF has as one product. */
static ts_status add_value_dim(const source *s)
{
    int64_t inner = 0, heads = 0, D = 0, Dv = 0;
    ts_status status = ts_gguf_need_int(s, "ssm.inner_size", &inner);
    if (status == TS_OK)
        status = ts_gguf_need_int(s, "ssm.time_step_rank", &heads);
    if (status == TS_OK)
        status = ts_gguf_need_int(s, "attention.key_length", &D);
    if (status == TS_OK)
        status = ts_gguf_need_int(s, "attention.value_length", &Dv);
    if (status != TS_OK)
        return status;
    if (heads < 1 || inner % heads != 0)
        return ts_gguf_bad(s, "ssm.inner_size", "is not a multiple of ssm.time_step_rank");
    if (D != Dv)
        return ts_gguf_bad(s, "attention.value_length",
                           "differs from attention.key_length, which is not supported");
    cJSON_AddNumberToObject(s->o, "linear_value_head_dim", (double)(inner / heads));
    return TS_OK;
}

/* What ends a stream: end of text, of turn, of message. */
static ts_status add_stops(const source *s)
{
    static const char *const keys[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                       "tokenizer.ggml.eom_token_id"};
    cJSON *list = cJSON_AddArrayToObject(s->o, "eos_token_id");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const ts_gguf_value *v = ts_gguf_get(s->g, keys[i]);
        int64_t id = 0;
        if (v == NULL)
            continue;
        ts_status status = ts_gguf_whole(s->g, v, 0, &id, s->err);
        if (status != TS_OK)
            return status;
        cJSON_AddItemToArray(list, cJSON_CreateNumber((double)id));
    }
    return TS_OK;
}

/* What Qwen's have. */
static ts_status add_qwen(const source *s)
{
    ts_status status = add_kv_heads(s);
    if (status == TS_OK)
        status = add_value_dim(s);
    if (status == TS_OK)
        status = add_rope(s);
    return status == TS_OK ? add_layer_types(s) : status;
}

static ts_status add_all(source *s)
{
    ts_status status = find_architecture(s);
    if (status == TS_OK)
        status = add_layers(s);
    if (status == TS_OK)
        status = ts_gguf_add_vocabulary(s);
    if (status == TS_OK)
        status = add_ints(s);
    if (status == TS_OK)
        status = ts_gguf_add_real(s, "attention.layer_norm_rms_epsilon", "rms_norm_eps");
    if (status == TS_OK)
        status = s->arch == KIMI ? ts_gguf_kimi(s) : add_qwen(s);
    return status == TS_OK ? add_stops(s) : status;
}

ts_status ts_gguf_config(const ts_gguf *g, cJSON **out, ts_error *err)
{
    source s = {.g = g, .o = cJSON_CreateObject(), .err = err};
    if (s.o == NULL)
        return ts_no_memory(err, 0);
    ts_status status = add_all(&s);
    if (status == TS_OK)
        *out = s.o;
    else
        cJSON_Delete(s.o);
    return status;
}
