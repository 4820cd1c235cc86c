/* Byte-level BPE: cut out added tokens, NFC what lies between, split it into pieces, merge. */
#include "format/tokenizer.h"

#include <stdlib.h>
#include <string.h>
#include "format/json.h"
#include "format/tokenizer_parts.h"

static ts_status read_gguf(const char *path, cJSON **json, bool *tiktoken, ts_error *err)
{
    ts_gguf *g;
    ts_status status = ts_gguf_open(path, &g, err);
    if (status != TS_OK)
        return status;
    status = ts_tokenizer_gguf(g, json, err);
    *tiktoken = ts_tokenizer_gguf_is_tiktoken(g);
    ts_gguf_close(g);
    return status;
}

static bool is_tiktoken(const char *path)
{
    static const char name[] = "tiktoken.model";
    const size_t n = strlen(path), m = sizeof name - 1;
    return n >= m && strcmp(path + n - m, name) == 0;
}

static ts_status load_file(ts_tokenizer *t, const char *path, ts_error *err)
{
    cJSON *json;
    bool tiktoken = false;
    t->path = malloc(strlen(path) + 1);
    if (t->path == NULL)
        return ts_no_memory(err, strlen(path) + 1);
    strcpy(t->path, path);
    if (is_tiktoken(path))
        return ts_tokenizer_tiktoken(t, err);
    ts_status status = ts_gguf_is(path) ? read_gguf(path, &json, &tiktoken, err) : ts_json_load(path, &json, err);
    if (status != TS_OK)
        return status;
    status = ts_tokenizer_rules(t, json, err);
    if (status == TS_OK)
        status = ts_tokenizer_load(t, json, err);
    cJSON_Delete(json);
    if (status == TS_OK && tiktoken) {
        ts_merge_table_free(&t->merges);
        status = ts_tokenizer_tiktoken_merge(t, err);
    }
    return status;
}

ts_status ts_tokenizer_open(const char *path, ts_tokenizer **out, ts_error *err)
{
    ts_tokenizer *t = calloc(1, sizeof *t);
    if (t == NULL)
        return ts_no_memory(err, sizeof *t);
    ts_status status = load_file(t, path, err);
    if (status == TS_OK)
        *out = t;
    else
        ts_tokenizer_close(t);
    return status;
}

void ts_tokenizer_close(ts_tokenizer *t)
{
    if (t == NULL)
        return;
    ts_split_free(t->split);
    ts_merge_table_free(&t->merges);
    free(t->vocab.at);
    free(t->added.at);
    free(t->token);
    free(t->arena);
    free(t->path);
    free(t);
}

/* One call of encode: the tokenizer itself is only read, so threads may share it. */
typedef struct {
    const ts_tokenizer *t;
    int32_t *ids;
    size_t n, room;
    ts_bpe_work work;
} encoder;

static ts_status append(encoder *e, const int32_t *ids, size_t n, ts_error *err)
{
    if (n > e->room - e->n) {
        size_t room = 2 * (e->n + n);
        int32_t *more = realloc(e->ids, room * sizeof *more);
        if (more == NULL)
            return ts_no_memory(err, room * sizeof *more);
        e->ids = more;
        e->room = room;
    }
    memcpy(e->ids + e->n, ids, n * sizeof *ids);
    e->n += n;
    return TS_OK;
}

static ts_status encode_piece(void *context, const char *piece, size_t size, ts_error *err)
{
    encoder *e = context;
    int32_t whole = e->t->ignore_merges ? ts_lexicon_find(&e->t->vocab, piece, size) : -1;
    if (whole >= 0)
        return append(e, &whole, 1, err);
    ts_status status = ts_bpe_reserve(&e->work, size, err);
    if (status != TS_OK)
        return status;
    for (size_t i = 0; i < size; i++) {
        unsigned byte = (unsigned char)piece[i];
        e->work.id[i] = e->t->byte_id[byte];
        if (e->work.id[i] < 0)
            return ts_fail(err, TS_BAD, e->t->path, "model.vocab", "no token for byte 0x%02x, which the text has",
                           byte);
    }
    size_t n = ts_bpe_merge(&e->t->merges, &e->work, size);
    return append(e, e->work.id, n, err);
}

static ts_status split_and_encode(encoder *e, const char *text, size_t size, ts_error *err)
{
    if (e->t->split == NULL)
        return encode_piece(e, text, size, err);
    return ts_split_text(e->t->split, text, size, encode_piece, e, err);
}

/* What lies between two added tokens. */
static ts_status encode_part(encoder *e, const char *text, size_t size, ts_error *err)
{
    char *nfc;
    size_t nfc_size;
    if (size == 0)
        return TS_OK;
    if (!e->t->nfc)
        return split_and_encode(e, text, size, err);
    ts_status status = ts_nfc(text, size, &nfc, &nfc_size, err);
    if (status != TS_OK)
        return status;
    status = split_and_encode(e, nfc, nfc_size, err);
    free(nfc);
    return status;
}

static ts_status encode_text(encoder *e, const char *text, size_t size, ts_error *err)
{
    ts_status status = TS_OK;
    size_t part = 0;
    for (size_t at = 0; at < size && status == TS_OK;) {
        const ts_entry *added = ts_lexicon_prefix(&e->t->added, text + at, size - at);
        if (added == NULL) {
            at++;
            continue;
        }
        status = encode_part(e, text + part, at - part, err);
        if (status == TS_OK)
            status = append(e, &added->id, 1, err);
        at += added->size;
        part = at;
    }
    return status == TS_OK ? encode_part(e, text + part, size - part, err) : status;
}

ts_status ts_tokenizer_encode(const ts_tokenizer *t, const char *text, size_t size, int32_t **ids, size_t *n,
                              ts_error *err)
{
    encoder e = {.t = t, .room = 16, .ids = malloc(16 * sizeof(int32_t))};
    if (e.ids == NULL)
        return ts_no_memory(err, 16 * sizeof(int32_t));
    ts_status status = ts_utf8_check(text, size, NULL, "text", err);
    if (status == TS_OK && t->tiktoken)
        status = ts_tokenizer_tiktoken_fits(t->path, text, size, err);
    if (status == TS_OK)
        status = encode_text(&e, text, size, err);
    ts_bpe_free(&e.work);
    if (status != TS_OK) {
        free(e.ids);
        return status;
    }
    *ids = e.ids;
    *n = e.n;
    return TS_OK;
}

const char *ts_tokenizer_bytes(const ts_tokenizer *t, int32_t id, size_t *size)
{
    if (id < 0 || id >= t->n_ids || t->token[id].bytes == NULL)
        return NULL;
    *size = t->token[id].size;
    return t->token[id].bytes;
}

int32_t ts_tokenizer_size(const ts_tokenizer *t)
{
    return t->n_ids;
}

int32_t ts_tokenizer_find(const ts_tokenizer *t, const char *content)
{
    int32_t id = ts_lexicon_find(&t->added, content, strlen(content));
    return id >= 0 ? id : ts_lexicon_find(&t->vocab, content, strlen(content));
}
