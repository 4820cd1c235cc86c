/* The tokenizer of a GGUF file put into the words of tokenizer.json, so that one loader
 * checks both. */
#include <stdlib.h>
#include <string.h>
#include "format/gguf.h"
#include "format/tokenizer_parts.h"

#define KEY "tokenizer.ggml."
#define TIKTOKEN "kimi-k2"

enum { NORMAL = 1, CONTROL = 3, USER_DEFINED = 4, UNUSED = 5, BYTE = 6 };

/* How text is cut into pieces, by tokenizer.ggml.pre. */
static const struct {
    const char *name, *regex;
} splits[] = {
    {"qwen35", "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}|"
               " ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
    {"qwen2", "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"
              " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
};

typedef struct {
    const ts_gguf *g;
    cJSON *json, *vocab, *merges, *added;
    ts_error *err;
} source;

static ts_status bad(const source *s, const char *key, const char *what)
{
    return ts_fail(s->err, TS_BAD, ts_gguf_path(s->g), key, "%s", what);
}

/* A string, an array of strings or of numbers; an array has `count` elements unless that is 0. */
static ts_status find(const source *s, const char *key, bool array, bool text, uint64_t count,
                      const ts_gguf_value **out)
{
    *out = ts_gguf_get(s->g, key);
    if (*out == NULL)
        return bad(s, key, "missing");
    if ((*out)->array != array || ((*out)->kind == TS_GGUF_STRING) != text)
        return ts_fail(s->err, TS_BAD, ts_gguf_path(s->g), key, "must be %s%s", array ? "an array of " : "a ",
                       text    ? array ? "strings" : "string"
                       : array ? "numbers"
                               : "number");
    if (count != 0 && (*out)->count != count)
        return ts_fail(s->err, TS_BAD, ts_gguf_path(s->g), key, "%llu entries for %llu tokens",
                       (unsigned long long)(*out)->count, (unsigned long long)count);
    return TS_OK;
}

/* The next string of a value, malloc'd; NULL and an error: it holds a NUL, or there is no memory. */
static char *next_text(const source *s, const char *key, uint64_t i, const unsigned char **at)
{
    size_t n;
    const char *text = ts_gguf_text(at, &n);
    char *copy = malloc(n + 1);
    if (copy == NULL) {
        ts_no_memory(s->err, n + 1);
        return NULL;
    }
    memcpy(copy, text, n);
    copy[n] = '\0';
    if (memchr(copy, '\0', n) == NULL && ts_utf8_check(copy, n, ts_gguf_path(s->g), key, s->err) == TS_OK)
        return copy;
    if (memchr(copy, '\0', n) != NULL)
        ts_fail(s->err, TS_BAD, ts_gguf_path(s->g), key, "entry %llu holds a NUL", (unsigned long long)i);
    free(copy);
    return NULL;
}

static bool equals(const ts_gguf_value *v, const char *word)
{
    size_t n;
    const unsigned char *at = v->data;
    const char *text = ts_gguf_text(&at, &n);
    return n == strlen(word) && memcmp(text, word, n) == 0;
}

static ts_status check_model(const source *s)
{
    const ts_gguf_value *v;
    ts_status status = find(s, KEY "model", false, true, 0, &v);
    if (status == TS_OK && !equals(v, "gpt2"))
        return bad(s, KEY "model", "only \"gpt2\" is supported");
    if (status != TS_OK)
        return status;
    v = ts_gguf_get(s->g, KEY "add_bos_token");
    if (v != NULL && v->kind == TS_GGUF_BOOL && ts_gguf_number(v, 0) != 0)
        return bad(s, KEY "add_bos_token", "true is not supported");
    return TS_OK;
}

static void add_byte_level(cJSON *o)
{
    cJSON_AddStringToObject(o, "type", "ByteLevel");
    cJSON_AddFalseToObject(o, "add_prefix_space");
    cJSON_AddFalseToObject(o, "use_regex");
}

bool ts_tokenizer_gguf_is_tiktoken(const ts_gguf *g)
{
    const ts_gguf_value *v = ts_gguf_get(g, KEY "pre");
    return v != NULL && v->kind == TS_GGUF_STRING && !v->array && equals(v, TIKTOKEN);
}

/* NFC is no key of GGUF; the tokenizers that these names stand for apply it, but for Kimi's, whose split is not in
 * tokenizer.json's words. */
static ts_status add_pre(const source *s)
{
    const ts_gguf_value *v;
    size_t i = 0, n = sizeof splits / sizeof *splits;
    ts_status status = find(s, KEY "pre", false, true, 0, &v);
    if (status != TS_OK)
        return status;
    if (ts_tokenizer_gguf_is_tiktoken(s->g)) {
        add_byte_level(cJSON_AddObjectToObject(s->json, "decoder"));
        add_byte_level(cJSON_AddObjectToObject(s->json, "pre_tokenizer"));
        return TS_OK;
    }
    while (i < n && !equals(v, splits[i].name))
        i++;
    if (i == n)
        return bad(s, KEY "pre", "only \"qwen35\", \"qwen2\" and \"" TIKTOKEN "\" are supported");
    cJSON_AddStringToObject(cJSON_AddObjectToObject(s->json, "normalizer"), "type", "NFC");
    add_byte_level(cJSON_AddObjectToObject(s->json, "decoder"));
    cJSON *pre = cJSON_AddObjectToObject(s->json, "pre_tokenizer");
    cJSON *split = cJSON_CreateObject(), *bytes = cJSON_CreateObject();
    cJSON_AddStringToObject(pre, "type", "Sequence");
    cJSON *list = cJSON_AddArrayToObject(pre, "pretokenizers");
    cJSON_AddItemToArray(list, split);
    cJSON_AddItemToArray(list, bytes);
    cJSON_AddStringToObject(split, "type", "Split");
    cJSON_AddStringToObject(cJSON_AddObjectToObject(split, "pattern"), "Regex", splits[i].regex);
    cJSON_AddStringToObject(split, "behavior", "Isolated");
    add_byte_level(bytes);
    return TS_OK;
}

static ts_status add_token(const source *s, uint64_t id, const char *text, int type)
{
    cJSON *o;
    switch (type) {
    case NORMAL:
    case BYTE:
        cJSON_AddNumberToObject(s->vocab, text, (double)id);
        return TS_OK;
    case CONTROL:
    case USER_DEFINED:
        o = cJSON_CreateObject();
        cJSON_AddItemToArray(s->added, o);
        cJSON_AddNumberToObject(o, "id", (double)id);
        cJSON_AddStringToObject(o, "content", text);
        return TS_OK;
    case UNUSED:
        return TS_OK;
    default:
        return ts_fail(s->err, TS_BAD, ts_gguf_path(s->g), KEY "token_type", "token %llu has type %d",
                       (unsigned long long)id, type);
    }
}

static ts_status add_tokens(const source *s)
{
    const ts_gguf_value *tokens, *types = NULL;
    ts_status status = find(s, KEY "tokens", true, true, 0, &tokens);
    if (status == TS_OK && tokens->count > TS_MAX_IDS)
        return bad(s, KEY "tokens", "more than 2^24 tokens");
    if (status == TS_OK && ts_gguf_get(s->g, KEY "token_type") != NULL)
        status = find(s, KEY "token_type", true, false, tokens->count, &types);
    if (status != TS_OK)
        return status;
    const unsigned char *at = tokens->data;
    for (uint64_t i = 0; i < tokens->count && status == TS_OK; i++) {
        double type = types != NULL ? ts_gguf_number(types, i) : NORMAL;
        char *text = next_text(s, KEY "tokens", i, &at);
        if (text == NULL)
            return TS_BAD;
        status = add_token(s, i, text, type >= 0 && type <= BYTE ? (int)type : 0);
        free(text);
    }
    return status;
}

static ts_status add_merges(const source *s)
{
    const ts_gguf_value *merges;
    ts_status status = find(s, KEY "merges", true, true, 0, &merges);
    if (status != TS_OK || ts_tokenizer_gguf_is_tiktoken(s->g))
        return status;
    const unsigned char *at = merges->data;
    for (uint64_t i = 0; i < merges->count; i++) {
        char *text = next_text(s, KEY "merges", i, &at);
        if (text == NULL)
            return TS_BAD;
        cJSON_AddItemToArray(s->merges, cJSON_CreateString(text));
        free(text);
    }
    return TS_OK;
}

ts_status ts_tokenizer_gguf(const ts_gguf *g, cJSON **out, ts_error *err)
{
    source s = {.g = g, .json = cJSON_CreateObject(), .err = err};
    cJSON *model = cJSON_AddObjectToObject(s.json, "model");
    cJSON_AddStringToObject(model, "type", "BPE");
    s.vocab = cJSON_AddObjectToObject(model, "vocab");
    s.merges = cJSON_AddArrayToObject(model, "merges");
    s.added = cJSON_AddArrayToObject(s.json, "added_tokens");
    ts_status status = s.vocab && s.merges && s.added ? check_model(&s) : ts_no_memory(err, sizeof(cJSON));
    if (status == TS_OK)
        status = add_pre(&s);
    if (status == TS_OK)
        status = add_tokens(&s);
    if (status == TS_OK)
        status = add_merges(&s);
    if (status == TS_OK)
        *out = s.json;
    else
        cJSON_Delete(s.json);
    return status;
}

const char *ts_tokenizer_gguf_pre(const cJSON *json)
{
    const cJSON *pre = cJSON_GetObjectItemCaseSensitive(json, "pre_tokenizer");
    const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(pre, "pretokenizers"), 0);
    const cJSON *pattern = cJSON_GetObjectItemCaseSensitive(first, "pattern");
    const char *regex = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(pattern, "Regex"));
    for (size_t i = 0; regex != NULL && i < sizeof splits / sizeof *splits; i++)
        if (strcmp(splits[i].regex, regex) == 0)
            return splits[i].name;
    return NULL;
}
