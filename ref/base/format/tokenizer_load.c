/* Added tokens, vocabulary and merges of a tokenizer.json. Vocabulary strings are kept as the
 * raw bytes they stand for; the contents of added tokens are literal text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "format/byte_map.h"
#include "format/json.h"
#include "format/tokenizer_parts.h"

enum { MAP_END = 0x144 }; /* code points of the byte map lie below */

typedef struct {
    struct ts_tokenizer *t;
    const cJSON *added, *vocab, *merges; /* added may be NULL */
    int16_t byte_of[MAP_END];            /* -1: stands for no byte */
    ts_error *err;
} loader;

static ts_status bad(const loader *l, const char *key, const char *token, const char *what)
{
    return ts_fail(l->err, TS_BAD, l->t->path, key, "\"%.60s\": %s", token, what);
}

static void invert_byte_map(loader *l)
{
    for (int i = 0; i < MAP_END; i++)
        l->byte_of[i] = -1;
    for (int b = 0; b < 256; b++)
        l->byte_of[ts_byte_map[b]] = (int16_t)b;
}

/* The byte a character of a vocabulary string stands for, or -1; *p moves past the character. */
static int unmap(const loader *l, const char **p, const char *end)
{
    int n = ts_utf8_sequence(*p, (size_t)(end - *p));
    unsigned first = (unsigned char)(*p)[0], code = MAP_END;
    if (n == 1)
        code = first;
    else if (n == 2)
        code = (first & 0x1Fu) << 6 | ((unsigned char)(*p)[1] & 0x3Fu);
    *p += n > 0 ? n : 1;
    return code < MAP_END ? l->byte_of[code] : -1;
}

/* Decodes text[0..size) into out (as many bytes or fewer); on failure *bad_at is the character. */
static bool unmap_all(const loader *l, const char *text, size_t size, char *out, size_t *n, const char **bad_at)
{
    const char *p = text, *end = text + size;
    *n = 0;
    while (p < end) {
        *bad_at = p;
        int byte = unmap(l, &p, end);
        if (byte < 0)
            return false;
        out[(*n)++] = (char)byte;
    }
    return true;
}

static ts_status find_lists(loader *l, const cJSON *json)
{
    const cJSON *model = cJSON_GetObjectItemCaseSensitive(json, "model");
    l->added = cJSON_GetObjectItemCaseSensitive(json, "added_tokens");
    l->vocab = cJSON_GetObjectItemCaseSensitive(model, "vocab");
    l->merges = cJSON_GetObjectItemCaseSensitive(model, "merges");
    if (cJSON_IsNull(l->added))
        l->added = NULL;
    if (l->added != NULL && !cJSON_IsArray(l->added))
        return ts_fail(l->err, TS_BAD, l->t->path, "added_tokens", "must be a list");
    if (!cJSON_IsObject(l->vocab) || l->vocab->child == NULL)
        return ts_fail(l->err, TS_BAD, l->t->path, "model.vocab", "must be an object with at least one token");
    if (!cJSON_IsArray(l->merges))
        return ts_fail(l->err, TS_BAD, l->t->path, "model.merges", "must be a list");
    return TS_OK;
}

/* Checks one token's string and id, and counts it. */
static ts_status measure_token(loader *l, const char *key, const char *text, const cJSON *id, size_t *bytes)
{
    if (text[0] == '\0')
        return ts_fail(l->err, TS_BAD, l->t->path, key, "a token is the empty string");
    double x = cJSON_IsNumber(id) ? id->valuedouble : -1;
    if (!(x >= 0 && x < TS_MAX_IDS) || floor(x) != x)
        return bad(l, key, text, "the id must be an integer of 0..16777215");
    if ((int32_t)x >= l->t->n_ids)
        l->t->n_ids = (int32_t)x + 1;
    *bytes += strlen(text) + 1;
    return TS_OK;
}

static ts_status measure(loader *l, size_t *bytes, size_t *n_vocab, size_t *n_added)
{
    const cJSON *i;
    ts_status status = TS_OK;
    for (i = l->vocab->child; i != NULL && status == TS_OK; i = i->next, ++*n_vocab)
        status = measure_token(l, "model.vocab", i->string, i, bytes);
    for (i = l->added ? l->added->child : NULL; i != NULL && status == TS_OK; i = i->next, ++*n_added) {
        const char *content;
        status = ts_json_string(l->t->path, i, "content", &content, l->err);
        if (status == TS_OK && strlen(content) > TS_MAX_ADDED_BYTES)
            status = bad(l, "added_tokens", content, "longer than 1024 bytes");
        if (status == TS_OK)
            status = measure_token(l, "added_tokens", content, cJSON_GetObjectItemCaseSensitive(i, "id"), bytes);
    }
    return status;
}

static ts_status allocate(loader *l)
{
    struct ts_tokenizer *t = l->t;
    size_t bytes = 0, n_vocab = 0, n_added = 0;
    ts_status status = measure(l, &bytes, &n_vocab, &n_added);
    if (status != TS_OK)
        return status;
    t->arena = malloc(bytes);
    t->token = calloc((size_t)t->n_ids, sizeof *t->token);
    t->vocab.at = calloc(n_vocab, sizeof *t->vocab.at);
    t->added.at = calloc(n_added + 1, sizeof *t->added.at);
    if (t->arena == NULL || t->token == NULL || t->vocab.at == NULL || t->added.at == NULL)
        return ts_no_memory(l->err, bytes + (size_t)t->n_ids * sizeof *t->token);
    for (int b = 0; b < 256; b++)
        t->byte_id[b] = -1;
    return TS_OK;
}

/* The next free bytes of the arena become a token of `size` bytes. */
static const char *keep(struct ts_tokenizer *t, size_t size)
{
    char *bytes = t->arena + t->used;
    bytes[size] = '\0';
    t->used += size + 1;
    return bytes;
}

static ts_status add_added(loader *l, const cJSON *o)
{
    static const char *const unsupported[] = {"single_word", "lstrip", "rstrip", "normalized"};
    struct ts_tokenizer *t = l->t;
    const char *content = cJSON_GetObjectItemCaseSensitive(o, "content")->valuestring;
    int32_t id = (int32_t)cJSON_GetObjectItemCaseSensitive(o, "id")->valuedouble;
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++) {
        bool on = false;
        ts_status status = ts_json_opt_bool(t->path, o, unsupported[i], &on, l->err);
        if (status != TS_OK)
            return status;
        if (on)
            return ts_fail(l->err, TS_BAD, t->path, "added_tokens", "\"%.60s\": %s true is not supported", content,
                           unsupported[i]);
    }
    if (t->token[id].bytes != NULL)
        return bad(l, "added_tokens", content, "another added token has this id");
    size_t size = strlen(content);
    memcpy(t->arena + t->used, content, size);
    t->token[id] = (ts_token){.bytes = keep(t, size), .size = size};
    t->added.at[t->added.count++] = (ts_entry){.bytes = t->token[id].bytes, .size = size, .id = id};
    return TS_OK;
}

/* An added token may be in the vocabulary too, under the same id; it keeps its literal text. */
static ts_status add_vocab(loader *l, const cJSON *o)
{
    struct ts_tokenizer *t = l->t;
    int32_t id = (int32_t)o->valuedouble;
    bool is_added = t->token[id].bytes != NULL && ts_lexicon_find(&t->added, o->string, strlen(o->string)) == id;
    const char *bad_at;
    size_t n;
    if (!unmap_all(l, o->string, strlen(o->string), t->arena + t->used, &n, &bad_at))
        return is_added ? TS_OK
                        : ts_fail(l->err, TS_BAD, t->path, "model.vocab",
                                  "\"%.60s\": %.*s (byte %zu) stands for no byte", o->string,
                                  ts_utf8_sequence(bad_at, strlen(bad_at)), bad_at, (size_t)(bad_at - o->string));
    if (t->token[id].bytes != NULL && !is_added)
        return bad(l, "model.vocab", o->string, "another token has this id");
    const char *bytes = keep(t, n);
    if (!is_added)
        t->token[id] = (ts_token){.bytes = bytes, .size = n};
    t->vocab.at[t->vocab.count++] = (ts_entry){.bytes = bytes, .size = n, .id = id};
    if (n == 1)
        t->byte_id[(unsigned char)bytes[0]] = id;
    return TS_OK;
}

/* One string under two ids would make the id of an added token ambiguous. */
static ts_status check_overlap(loader *l)
{
    const struct ts_tokenizer *t = l->t;
    for (size_t i = 0; i < t->added.count; i++) {
        const ts_entry *a = &t->added.at[i];
        char bytes[TS_MAX_ADDED_BYTES];
        const char *bad_at;
        size_t n;
        if (!unmap_all(l, a->bytes, a->size, bytes, &n, &bad_at))
            continue;
        int32_t id = ts_lexicon_find(&t->vocab, bytes, n);
        if (id >= 0 && id != a->id)
            return ts_fail(l->err, TS_BAD, t->path, "added_tokens", "\"%.60s\" is id %d here, %d in the vocabulary",
                           a->bytes, (int)a->id, (int)id);
    }
    return TS_OK;
}

static ts_status read_tokens(loader *l)
{
    struct ts_tokenizer *t = l->t;
    ts_status status = TS_OK;
    for (const cJSON *i = l->added ? l->added->child : NULL; i != NULL && status == TS_OK; i = i->next)
        status = add_added(l, i);
    if (status == TS_OK)
        status = ts_lexicon_sort(&t->added, t->path, "added_tokens", l->err);
    for (const cJSON *i = l->vocab->child; i != NULL && status == TS_OK; i = i->next)
        status = add_vocab(l, i);
    if (status == TS_OK)
        status = ts_lexicon_sort(&t->vocab, t->path, "model.vocab", l->err);
    return status == TS_OK ? check_overlap(l) : status;
}

/* A merge is "left right" or ["left", "right"]: the parts as spans of the file's strings. */
typedef struct {
    const char *left, *right;
    size_t left_size, right_size;
} merge_text;

static bool split_merge(const cJSON *o, merge_text *m)
{
    if (cJSON_IsString(o)) {
        const char *space = strchr(o->valuestring, ' ');
        if (space == NULL || strchr(space + 1, ' ') != NULL)
            return false;
        *m = (merge_text){
            .left = o->valuestring, .left_size = (size_t)(space - o->valuestring), .right = space + 1};
    } else {
        const cJSON *right = o->child != NULL ? o->child->next : NULL;
        if (!cJSON_IsArray(o) || right == NULL || right->next != NULL || !cJSON_IsString(o->child) ||
            !cJSON_IsString(right))
            return false;
        *m = (merge_text){.left = o->child->valuestring, .right = right->valuestring};
        m->left_size = strlen(m->left);
    }
    m->right_size = strlen(m->right);
    return m->left_size > 0 && m->right_size > 0;
}

static ts_status add_merge(loader *l, const merge_text *m, uint32_t rank, char *bytes)
{
    const ts_lexicon *vocab = &l->t->vocab;
    const char *bad_at;
    size_t n_left, n_right;
    int32_t left = -1, right = -1, merged = -1;
    if (unmap_all(l, m->left, m->left_size, bytes, &n_left, &bad_at) &&
        unmap_all(l, m->right, m->right_size, bytes + n_left, &n_right, &bad_at)) {
        left = ts_lexicon_find(vocab, bytes, n_left);
        right = ts_lexicon_find(vocab, bytes + n_left, n_right);
        merged = ts_lexicon_find(vocab, bytes, n_left + n_right);
    }
    if (left < 0 || right < 0 || merged < 0)
        return ts_fail(l->err, TS_BAD, l->t->path, "model.merges",
                       "merge %u (%.40s, %.40s): the %s is not in the vocabulary", (unsigned)rank, m->left,
                       m->right,
                       left < 0    ? "left part"
                       : right < 0 ? "right part"
                                   : "result");
    return ts_merge_table_add(&l->t->merges, left, right, rank, merged, l->t->path, l->err);
}

static ts_status read_merges(loader *l)
{
    ts_status status = ts_merge_table_init(&l->t->merges, (size_t)cJSON_GetArraySize(l->merges), l->err);
    uint32_t rank = 0;
    for (const cJSON *i = l->merges->child; i != NULL && status == TS_OK; i = i->next, rank++) {
        merge_text m;
        if (!split_merge(i, &m))
            return ts_fail(l->err, TS_BAD, l->t->path, "model.merges", "merge %u is not two strings",
                           (unsigned)rank);
        char *bytes = malloc(m.left_size + m.right_size);
        if (bytes == NULL)
            return ts_no_memory(l->err, m.left_size + m.right_size);
        status = add_merge(l, &m, rank, bytes);
        free(bytes);
    }
    return status;
}

ts_status ts_tokenizer_load(struct ts_tokenizer *t, const cJSON *json, ts_error *err)
{
    loader l = {.t = t, .err = err};
    invert_byte_map(&l);
    ts_status status = find_lists(&l, json);
    if (status == TS_OK)
        status = allocate(&l);
    if (status == TS_OK)
        status = read_tokens(&l);
    return status == TS_OK ? read_merges(&l) : status;
}
