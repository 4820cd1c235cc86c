/* Which tokenizer.json is understood: byte-level BPE with NFC or nothing before it and
 * one split pattern. Anything else would give other ids than the file means, so it is refused by name. */
#include <string.h>
#include "format/json.h"
#include "format/tokenizer_parts.h"

/* The member, or NULL if it is absent or null. */
static const cJSON *get(const cJSON *o, const char *key)
{
    const cJSON *i = cJSON_GetObjectItemCaseSensitive(o, key);
    return i == NULL || cJSON_IsNull(i) ? NULL : i;
}

static const char *type_of(const cJSON *o)
{
    const cJSON *type = get(o, "type");
    return cJSON_IsString(type) ? type->valuestring : "(no type)";
}

static bool is_type(const cJSON *o, const char *type)
{
    return o != NULL && strcmp(type_of(o), type) == 0;
}

static ts_status refuse(const struct ts_tokenizer *t, const char *key, const char *what, ts_error *err)
{
    return ts_fail(err, TS_BAD, t->path, key, "%.100s is not supported", what);
}

static ts_status must_be_absent(const struct ts_tokenizer *t, const cJSON *o, const char *key, ts_error *err)
{
    return get(o, key) == NULL ? TS_OK : refuse(t, key, "a value other than null", err);
}

/* Absent, null or false. */
static ts_status must_be_false(const struct ts_tokenizer *t, const cJSON *o, const char *key, ts_error *err)
{
    bool on = false;
    ts_status status = ts_json_opt_bool(t->path, o, key, &on, err);
    return status == TS_OK && on ? refuse(t, key, "true", err) : status;
}

static ts_status must_be_empty(const struct ts_tokenizer *t, const cJSON *o, const char *key, ts_error *err)
{
    const cJSON *i = get(o, key);
    bool empty = i == NULL || (cJSON_IsString(i) && i->valuestring[0] == '\0');
    return empty ? TS_OK : refuse(t, key, "a value other than null or \"\"", err);
}

static ts_status read_normalizer(struct ts_tokenizer *t, const cJSON *o, ts_error *err)
{
    const cJSON *list = get(o, "normalizers"), *i;
    if (o == NULL)
        return TS_OK;
    if (is_type(o, "NFC")) {
        t->nfc = true;
        return TS_OK;
    }
    if (!is_type(o, "Sequence") || !cJSON_IsArray(list))
        return refuse(t, "normalizer", type_of(o), err);
    cJSON_ArrayForEach (i, list) {
        if (!is_type(i, "NFC"))
            return refuse(t, "normalizer", type_of(i), err);
        t->nfc = true;
    }
    return TS_OK;
}

static ts_status read_split(struct ts_tokenizer *t, const cJSON *o, ts_error *err)
{
    const cJSON *regex = get(get(o, "pattern"), "Regex");
    const char *behavior;
    if (!cJSON_IsString(regex))
        return refuse(t, "pre_tokenizer", "a Split pattern other than {\"Regex\": ...}", err);
    ts_status status = ts_json_string(t->path, o, "behavior", &behavior, err);
    if (status == TS_OK && strcmp(behavior, "Isolated") != 0)
        status = refuse(t, "pre_tokenizer.behavior", behavior, err);
    if (status == TS_OK)
        status = must_be_false(t, o, "invert", err);
    return status == TS_OK ? ts_split_compile(t->path, regex->valuestring, &t->split, err) : status;
}

/* Absent means true in this format, so both must be there. */
static ts_status check_byte_level(const struct ts_tokenizer *t, const cJSON *o, ts_error *err)
{
    static const char *const keys[] = {"add_prefix_space", "use_regex"};
    if (!is_type(o, "ByteLevel"))
        return refuse(t, "pre_tokenizer", type_of(o), err);
    for (size_t i = 0; i < 2; i++) {
        bool on = true;
        ts_status status = ts_json_opt_bool(t->path, o, keys[i], &on, err);
        if (status != TS_OK)
            return status;
        if (on)
            return ts_fail(err, TS_BAD, t->path, "pre_tokenizer", "ByteLevel: %s must be false", keys[i]);
    }
    return TS_OK;
}

/* [Split, ByteLevel], [ByteLevel] or ByteLevel alone. */
static ts_status read_pre_tokenizer(struct ts_tokenizer *t, const cJSON *o, ts_error *err)
{
    if (o == NULL)
        return refuse(t, "pre_tokenizer", "null", err);
    if (!is_type(o, "Sequence"))
        return check_byte_level(t, o, err);
    const cJSON *list = get(o, "pretokenizers");
    int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
    if (n < 1 || n > 2)
        return refuse(t, "pre_tokenizer", "a Sequence other than Split, ByteLevel", err);
    ts_status status = check_byte_level(t, cJSON_GetArrayItem(list, n - 1), err);
    if (status != TS_OK || n == 1)
        return status;
    const cJSON *first = cJSON_GetArrayItem(list, 0);
    return is_type(first, "Split") ? read_split(t, first, err) : refuse(t, "pre_tokenizer", type_of(first), err);
}

/* A template is harmless if it is the sequence alone. */
static bool adds_nothing(const cJSON *template)
{
    const cJSON *single = get(template, "single"), *special = get(template, "special_tokens");
    return cJSON_GetArraySize(special) == 0 && cJSON_IsArray(single) && cJSON_GetArraySize(single) == 1 &&
           get(single->child, "Sequence") != NULL;
}

static ts_status check_post_processor(const struct ts_tokenizer *t, const cJSON *o, ts_error *err)
{
    if (o == NULL || is_type(o, "ByteLevel"))
        return TS_OK;
    if (!is_type(o, "TemplateProcessing"))
        return refuse(t, "post_processor", type_of(o), err);
    return adds_nothing(o) ? TS_OK : refuse(t, "post_processor", "a template that adds tokens", err);
}

static ts_status check_model(struct ts_tokenizer *t, const cJSON *o, ts_error *err)
{
    const cJSON *dropout = get(o, "dropout");
    if (!is_type(o, "BPE"))
        return refuse(t, "model.type", o == NULL ? "null" : type_of(o), err);
    if (dropout != NULL && !(cJSON_IsNumber(dropout) && dropout->valuedouble == 0))
        return refuse(t, "model.dropout", "a value other than null or 0", err);
    ts_status status = must_be_absent(t, o, "unk_token", err);
    if (status == TS_OK)
        status = must_be_empty(t, o, "continuing_subword_prefix", err);
    if (status == TS_OK)
        status = must_be_empty(t, o, "end_of_word_suffix", err);
    if (status == TS_OK)
        status = must_be_false(t, o, "byte_fallback", err);
    return status == TS_OK ? ts_json_opt_bool(t->path, o, "ignore_merges", &t->ignore_merges, err) : status;
}

ts_status ts_tokenizer_rules(struct ts_tokenizer *t, const cJSON *json, ts_error *err)
{
    const cJSON *decoder = get(json, "decoder");
    if (!cJSON_IsObject(json))
        return ts_fail(err, TS_BAD, t->path, NULL, "the top level must be an object");
    ts_status status = check_model(t, get(json, "model"), err);
    if (status == TS_OK)
        status = must_be_absent(t, json, "truncation", err);
    if (status == TS_OK)
        status = must_be_absent(t, json, "padding", err);
    if (status == TS_OK && !is_type(decoder, "ByteLevel"))
        status = refuse(t, "decoder", decoder == NULL ? "null" : type_of(decoder), err);
    if (status == TS_OK)
        status = check_post_processor(t, get(json, "post_processor"), err);
    if (status == TS_OK)
        status = read_normalizer(t, get(json, "normalizer"), err);
    return status == TS_OK ? read_pre_tokenizer(t, get(json, "pre_tokenizer"), err) : status;
}
