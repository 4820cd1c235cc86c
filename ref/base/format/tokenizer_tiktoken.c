/* tiktoken.model of Kimi: lines "base64(bytes) rank", the rank being the id. There is no list of merges: any two
 * neighbours merge whose bytes together are a token, the one of the lowest rank first. So each way to cut a token
 * into two is a merge of the token's rank. Added tokens are those of tokenizer_config.json beside it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "format/file.h"
#include "format/json.h"
#include "format/tokenizer_parts.h"

enum { MOST_BYTES = 100000000, MOST_TOKEN = TS_MAX_ADDED_BYTES, MOST_TEXT = 400000, MOST_RUN = 25000 };

/* Kimi's classes without Han, whose intersections ([...&&[^\p{Han}]]) are looks ahead here. */
#define UPPER "(?:(?!\\p{sc:Han})[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}])"
#define LOWER "(?:(?!\\p{sc:Han})[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}])"
#define SHORT "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"

/* The characters with White_Space: PCRE2's own class has U+180E too. */
#define SPACES "\\t-\\r \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"

static const char split[] = "[\\p{sc:Han}]+|[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" SHORT
                            "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*" SHORT "|\\p{N}{1,3}"
                            "| ?[^" SPACES "\\p{L}\\p{N}]+[\\r\\n]*|[" SPACES "]*[\\r\\n]+"
                            "|[" SPACES "]+(?![^" SPACES "])|[" SPACES "]+";

typedef struct {
    struct ts_tokenizer *t;
    ts_error *err;
} loader;

static ts_status bad_line(const loader *l, size_t line, const char *what)
{
    return ts_fail(l->err, TS_BAD, l->t->path, NULL, "line %zu: %s", line, what);
}

static int digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

/* Whole groups of four characters, the last padded with "="; -1: it is not that. */
static long decode(const char *text, size_t n, char *out)
{
    long size = 0;
    if (n == 0 || n % 4 != 0)
        return -1;
    for (size_t i = 0; i < n; i += 4) {
        const bool last = i + 4 == n;
        int pad = last && text[i + 3] == '=' ? 1 + (text[i + 2] == '=') : 0;
        unsigned bits = 0;
        for (int k = 0; k < 4; k++) {
            int d = k >= 4 - pad ? 0 : digit(text[i + (size_t)k]);
            if (d < 0)
                return -1;
            bits = bits << 6 | (unsigned)d;
        }
        for (int k = 0; k < 3 - pad; k++)
            out[size++] = (char)(bits >> (16 - 8 * k) & 255);
    }
    return size;
}

static ts_status read_line(loader *l, const char *text, size_t n, size_t line)
{
    struct ts_tokenizer *t = l->t;
    const char *space = memchr(text, ' ', n);
    if (space == NULL || space + 1 == text + n || n - (size_t)(space + 1 - text) > 8)
        return bad_line(l, line, "is not \"base64 rank\"");
    int32_t rank = 0;
    for (const char *p = space + 1; p < text + n; p++) {
        if (*p < '0' || *p > '9')
            return bad_line(l, line, "the rank is not a whole number");
        rank = rank * 10 + (*p - '0');
    }
    if (rank >= TS_MAX_IDS)
        return bad_line(l, line, "the rank exceeds 16777215");
    char *bytes = t->arena + t->used;
    long size = decode(text, (size_t)(space - text), bytes);
    if (size < 1 || size > MOST_TOKEN)
        return bad_line(l, line, size > MOST_TOKEN ? "a token of more than 1024 bytes" : "is not base64");
    bytes[size] = '\0';
    t->used += (size_t)size + 1;
    t->vocab.at[t->vocab.count++] = (ts_entry){.bytes = bytes, .size = (size_t)size, .id = rank};
    if (rank >= t->n_ids)
        t->n_ids = rank + 1;
    if (size == 1)
        t->byte_id[(unsigned char)bytes[0]] = rank;
    return TS_OK;
}

static ts_status read_lines(loader *l, const char *text, size_t size)
{
    struct ts_tokenizer *t = l->t;
    size_t lines = 1, line = 1;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    t->arena = malloc(size + lines + 4);
    t->vocab.at = calloc(lines, sizeof *t->vocab.at);
    if (t->arena == NULL || t->vocab.at == NULL)
        return ts_no_memory(l->err, size + lines * sizeof *t->vocab.at);
    ts_status status = TS_OK;
    for (size_t at = 0; at < size && status == TS_OK; line++) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t n = end != NULL ? (size_t)(end - text) - at : size - at;
        status = n > 0 ? read_line(l, text + at, n, line) : TS_OK;
        at += n + 1;
    }
    if (status == TS_OK && t->vocab.count == 0)
        return ts_fail(l->err, TS_BAD, t->path, NULL, "holds no tokens");
    return status == TS_OK ? ts_lexicon_sort(&t->vocab, t->path, "tokens", l->err) : status;
}

static ts_status add_added(loader *l, const cJSON *o)
{
    struct ts_tokenizer *t = l->t;
    char *end;
    long id = strtol(o->string, &end, 10);
    const char *content = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, "content"));
    if (*end != '\0' || end == o->string || id < 0 || id >= TS_MAX_IDS)
        return ts_fail(l->err, TS_BAD, t->path, "added_tokens_decoder", "\"%.40s\" is no id", o->string);
    if (content == NULL || content[0] == '\0' || strlen(content) > TS_MAX_ADDED_BYTES)
        return ts_fail(l->err, TS_BAD, t->path, "added_tokens_decoder", "%ld has no content of 1 to 1024 bytes",
                       id);
    t->added.at[t->added.count++] = (ts_entry){.bytes = content, .size = strlen(content), .id = (int32_t)id};
    if (id >= t->n_ids)
        t->n_ids = (int32_t)id + 1;
    return TS_OK;
}

/* Their contents move from the JSON to memory of the tokenizer's own. */
static ts_status keep_added(loader *l)
{
    struct ts_tokenizer *t = l->t;
    size_t size = t->used, at = t->used;
    for (size_t i = 0; i < t->added.count; i++)
        size += t->added.at[i].size + 1;
    char *arena = malloc(size + 1);
    if (arena == NULL)
        return ts_no_memory(l->err, size + 1);
    memcpy(arena, t->arena, t->used);
    for (size_t i = 0; i < t->vocab.count; i++)
        t->vocab.at[i].bytes = arena + (t->vocab.at[i].bytes - t->arena);
    for (size_t i = 0; i < t->added.count; i++) {
        ts_entry *e = &t->added.at[i];
        memcpy(arena + at, e->bytes, e->size + 1);
        e->bytes = arena + at;
        at += e->size + 1;
    }
    free(t->arena);
    t->arena = arena;
    t->used = at;
    return ts_lexicon_sort(&t->added, t->path, "added_tokens_decoder", l->err);
}

static ts_status read_added(loader *l)
{
    struct ts_tokenizer *t = l->t;
    const char *slash = strrchr(t->path, '/');
    char path[4096];
    cJSON *json;
    if (snprintf(path, sizeof path, "%.*stokenizer_config.json", slash != NULL ? (int)(slash + 1 - t->path) : 0,
                 t->path) >= (int)sizeof path)
        return ts_fail(l->err, TS_BAD, t->path, NULL, "path too long");
    ts_status status = ts_json_load(path, &json, l->err);
    if (status != TS_OK)
        return status;
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, "added_tokens_decoder");
    if (!cJSON_IsObject(list))
        status = ts_fail(l->err, TS_BAD, path, "added_tokens_decoder", "must be an object");
    t->added.at = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *t->added.at);
    if (t->added.at == NULL)
        status = ts_no_memory(l->err, sizeof *t->added.at);
    for (const cJSON *i = status == TS_OK ? list->child : NULL; i != NULL && status == TS_OK; i = i->next)
        status = add_added(l, i);
    if (status == TS_OK)
        status = keep_added(l);
    cJSON_Delete(json);
    return status;
}

static ts_status place(loader *l, const ts_lexicon *list)
{
    for (size_t i = 0; i < list->count; i++) {
        ts_token *token = &l->t->token[list->at[i].id];
        if (token->bytes != NULL)
            return ts_fail(l->err, TS_BAD, l->t->path, NULL, "two tokens have the id %d", (int)list->at[i].id);
        *token = (ts_token){.bytes = list->at[i].bytes, .size = list->at[i].size};
    }
    return TS_OK;
}

/* Counts the ways to cut tokens in two, or adds them to the merges. */
static ts_status cut_tokens(loader *l, bool add, size_t *count)
{
    const ts_lexicon *v = &l->t->vocab;
    ts_status status = TS_OK;
    *count = 0;
    for (size_t i = 0; i < v->count; i++) {
        const ts_entry *e = &v->at[i];
        for (size_t k = 1; k < e->size && status == TS_OK; k++) {
            int32_t left = ts_lexicon_find(v, e->bytes, k);
            int32_t right = left >= 0 ? ts_lexicon_find(v, e->bytes + k, e->size - k) : -1;
            *count += right >= 0;
            if (add && right >= 0)
                status = ts_merge_table_add(&l->t->merges, left, right, (uint32_t)e->id, e->id, l->t->path, l->err);
        }
    }
    return status;
}

/* The original cuts text at 400,000 characters and runs of 25,000 (non-)spaces, and each cut may change ids. */
ts_status ts_tokenizer_tiktoken_fits(const char *file, const char *text, size_t size, ts_error *err)
{
    size_t run = 0;
    bool space = false;
    for (size_t i = 0; i < size; i++) {
        bool now = text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r');
        run = now == space ? run + 1 : 1;
        space = now;
        if (i >= MOST_TEXT || run > MOST_RUN)
            return ts_fail(err, TS_BAD, file, NULL,
                           "texts of more than %d bytes, or %d without or of only spaces, are not supported",
                           MOST_TEXT, MOST_RUN);
    }
    return TS_OK;
}

ts_status ts_tokenizer_tiktoken_merge(struct ts_tokenizer *t, ts_error *err)
{
    loader l = {.t = t, .err = err};
    size_t cuts = 0;
    t->tiktoken = true;
    ts_status status = cut_tokens(&l, false, &cuts);
    if (status == TS_OK)
        status = ts_merge_table_init(&t->merges, cuts, err);
    if (status == TS_OK)
        status = cut_tokens(&l, true, &cuts);
    return status == TS_OK ? ts_split_compile_native(t->path, split, &t->split, err) : status;
}

ts_status ts_tokenizer_tiktoken(struct ts_tokenizer *t, ts_error *err)
{
    loader l = {.t = t, .err = err};
    char *text = NULL;
    size_t size = 0;
    for (int b = 0; b < 256; b++)
        t->byte_id[b] = -1;
    ts_status status = ts_file_read(t->path, MOST_BYTES, &text, &size, err);
    if (status == TS_OK)
        status = read_lines(&l, text, size);
    free(text);
    if (status == TS_OK)
        status = read_added(&l);
    if (status != TS_OK)
        return status;
    t->token = calloc((size_t)t->n_ids, sizeof *t->token);
    status = t->token != NULL ? place(&l, &t->vocab) : ts_no_memory(err, (size_t)t->n_ids * sizeof *t->token);
    if (status == TS_OK)
        status = place(&l, &t->added);
    return status == TS_OK ? ts_tokenizer_tiktoken_merge(t, err) : status;
}
