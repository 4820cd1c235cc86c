/* Kimi's tokenizer as a GGUF file has it: tokens in the letters of byte-level BPE, and of the ways to merge to a
 * token the one that its own bytes come to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert_parts.h"
#include "format/byte_map.h"
#include "format/tokenizer.h"
#include "format/tokenizer_parts.h"

#define TOKENIZER "tokenizer.ggml."

enum { NORMAL = 1, CONTROL = 3, UNUSED = 5 };

/* Two bytes for each, and a space between two of them. */
enum { ROOM = 2 * TS_MAX_ADDED_BYTES + 2 };

/* All bytes of a token in characters that stand for them; returns where it ends. */
static char *spell(const char *bytes, size_t n, char *to)
{
    for (size_t i = 0; i < n; i++) {
        const uint16_t c = ts_byte_map[(unsigned char)bytes[i]];
        if (c < 0x80) {
            *to++ = (char)c;
        } else {
            *to++ = (char)(0xC0 | c >> 6);
            *to++ = (char)(0x80 | (c & 0x3F));
        }
    }
    *to = '\0';
    return to;
}

static int type_of(const struct ts_tokenizer *t, int64_t id)
{
    if (id >= t->n_ids || t->token[id].bytes == NULL)
        return UNUSED;
    for (size_t i = 0; i < t->added.count; i++)
        if (t->added.at[i].id == id)
            return CONTROL;
    return NORMAL;
}

static void put_tokens(const struct ts_tokenizer *t, int64_t V, ts_gguf_out *out)
{
    char text[ROOM];
    ts_gguf_put_array(out, TOKENIZER "tokens", TS_GGUF_STRING, (uint64_t)V);
    for (int64_t i = 0; i < V; i++) {
        const int type = type_of(t, i);
        if (type == UNUSED)
            snprintf(text, sizeof text, "[PAD%lld]", (long long)i);
        else if (type == NORMAL)
            spell(t->token[i].bytes, t->token[i].size, text);
        ts_gguf_put_string(out, type == CONTROL ? t->token[i].bytes : text);
    }
    ts_gguf_put_array(out, TOKENIZER "token_type", TS_GGUF_I32, (uint64_t)V);
    for (int64_t i = 0; i < V; i++)
        ts_gguf_put_element(out, TS_GGUF_I32, (uint64_t)type_of(t, i));
}

/* Where the token's bytes, merged by ranks below its own, end up cut in two; 0: in another number of parts. */
static size_t cut(const ts_lexicon *vocab, const ts_entry *e)
{
    size_t start[TS_MAX_ADDED_BYTES + 1], n = e->size;
    for (size_t i = 0; i <= n; i++)
        start[i] = i;
    while (n > 2) {
        int32_t least = e->id;
        size_t at = n;
        for (size_t i = 0; i + 2 <= n; i++) {
            const int32_t id = ts_lexicon_find(vocab, e->bytes + start[i], start[i + 2] - start[i]);
            if (id >= 0 && id < least) {
                least = id;
                at = i;
            }
        }
        if (at == n)
            return 0;
        memmove(start + at + 1, start + at + 2, (n - at - 1) * sizeof *start);
        n--;
    }
    return n == 2 ? start[1] : 0;
}

static int by_id(const void *a, const void *b)
{
    const int32_t x = ((const ts_entry *)a)->id, y = ((const ts_entry *)b)->id;
    return (x > y) - (x < y);
}

/* In order of rank. */
static ts_status put_merges(const struct ts_tokenizer *t, ts_gguf_out *out, ts_error *err)
{
    const size_t count = t->vocab.count;
    uint64_t n = 0;
    ts_entry *sorted = malloc(count * sizeof *sorted);
    size_t *at = calloc(count, sizeof *at);
    for (size_t i = 0; sorted && at && i < count; i++)
        sorted[i] = t->vocab.at[i];
    if (sorted && at) {
        qsort(sorted, count, sizeof *sorted, by_id);
        for (size_t i = 0; i < count; i++)
            n += (at[i] = cut(&t->vocab, &sorted[i])) > 0;
        ts_gguf_put_array(out, TOKENIZER "merges", TS_GGUF_STRING, n);
    }
    for (size_t i = 0; sorted && at && i < count; i++) {
        char text[ROOM];
        if (at[i] == 0)
            continue;
        char *end = spell(sorted[i].bytes, at[i], text);
        *end = ' ';
        spell(sorted[i].bytes + at[i], sorted[i].size - at[i], end + 1);
        ts_gguf_put_string(out, text);
    }
    const bool done = sorted && at;
    free(sorted);
    free(at);
    return done ? TS_OK : ts_no_memory(err, count * sizeof *sorted);
}

ts_status ts_convert_tiktoken(const char *path, const ts_config *c, ts_gguf_out *out, ts_error *err)
{
    ts_tokenizer *t;
    ts_status status = ts_tokenizer_open(path, &t, err);
    if (status)
        return status;
    if (t->n_ids > c->V)
        status = ts_fail(err, TS_BAD, path, NULL, "has ids up to %d, the model a vocabulary of %lld", t->n_ids - 1,
                         (long long)c->V);
    if (!status) {
        ts_gguf_put_text(out, TOKENIZER "model", "gpt2");
        ts_gguf_put_text(out, TOKENIZER "pre", "kimi-k2");
        ts_gguf_put_bool(out, TOKENIZER "add_bos_token", false);
        put_tokens(t, c->V, out);
        status = put_merges(t, out, err);
    }
    ts_tokenizer_close(t);
    return status;
}
