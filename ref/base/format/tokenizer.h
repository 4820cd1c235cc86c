/* Byte-level BPE from a Hugging Face tokenizer.json: NFC, split regex (PCRE2),
 * GPT-2 byte map, merges by rank; added tokens are cut out of the raw text first. */
#ifndef TS_FORMAT_TOKENIZER_H
#define TS_FORMAT_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>
#include "num/status.h"

typedef struct ts_tokenizer ts_tokenizer;

/* `path` is a tokenizer.json, a GGUF file (tokenizer.ggml.*: gpt2; qwen35, qwen2 or kimi-k2), or Kimi's
 * tiktoken.model with its tokenizer_config.json beside it. */
ts_status ts_tokenizer_open(const char *path, ts_tokenizer **out, ts_error *err);
void ts_tokenizer_close(ts_tokenizer *t);

/* text[size] must be UTF-8 (else TS_BAD naming the byte). *ids is malloc'd. */
ts_status ts_tokenizer_encode(const ts_tokenizer *t, const char *text, size_t size, int32_t **ids, size_t *n,
                              ts_error *err);

/* The raw bytes of one id (may be a part of a UTF-8 sequence); NULL if no token has this id. */
const char *ts_tokenizer_bytes(const ts_tokenizer *t, int32_t id, size_t *size);

/* Number of ids, i.e. largest id + 1. */
int32_t ts_tokenizer_size(const ts_tokenizer *t);
/* The id of an added or vocabulary token by its literal content, or -1. */
int32_t ts_tokenizer_find(const ts_tokenizer *t, const char *content);

/* Streaming decode: bytes go in, whole UTF-8 sequences come out; an incomplete tail is held.
 * ts_utf8_push writes at most 3*size + 4 bytes to out and returns how many. Invalid bytes are passed
 * through as U+FFFD. ts_utf8_flush emits U+FFFD for a tail that never completed. */
typedef struct {
    char held[4];
    int n;
} ts_utf8_stream;
size_t ts_utf8_push(ts_utf8_stream *s, const char *bytes, size_t size, char *out);
size_t ts_utf8_flush(ts_utf8_stream *s, char *out);

/* NFC of text[size], malloc'd, NUL terminated. */
ts_status ts_nfc(const char *text, size_t size, char **out, size_t *out_size, ts_error *err);

#endif
