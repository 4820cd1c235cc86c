/* What the parts of the tokenizer share. Private to ref/base/format and its tests. */
#ifndef TS_FORMAT_TOKENIZER_PARTS_H
#define TS_FORMAT_TOKENIZER_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cjson/cJSON.h>
#include "format/gguf.h"
#include "num/status.h"

enum {
    TS_MAX_IDS = 1 << 24,      /* ids are 0..2^24-1: two fit in a 64-bit key */
    TS_MAX_ADDED_BYTES = 1024, /* of one added token */
    TS_MAX_REGEX_BYTES = 65536,
};

/* utf8.c. If p[0..n) starts with a whole UTF-8 sequence: its length, 1..4. Otherwise minus the
 * length of the longest prefix that could have begun one (at least 1: the unit that decoders replace
 * by one U+FFFD), or 0 if more bytes could complete it. */
int ts_utf8_sequence(const char *p, size_t n);
ts_status ts_utf8_check(const char *text, size_t size, const char *file, const char *key, ts_error *err);

/* bpe.c */
typedef struct {
    uint64_t key; /* left id << 32 | right id */
    uint32_t rank;
    int32_t id; /* of the merged token */
} ts_merge;

typedef struct {
    ts_merge *slot; /* open addressing, at most half full; rank TS_NO_RANK: empty */
    size_t mask;
} ts_merge_table;

#define TS_NO_RANK UINT32_MAX

ts_status ts_merge_table_init(ts_merge_table *m, size_t count, ts_error *err);
ts_status ts_merge_table_add(ts_merge_table *m, int32_t left, int32_t right, uint32_t rank, int32_t id,
                             const char *file, ts_error *err);
void ts_merge_table_free(ts_merge_table *m);

/* Arrays by position in the piece, kept from one piece to the next. */
typedef struct {
    int32_t *id;    /* the symbol that starts here */
    int32_t *next;  /* where the following one starts, or the end */
    int32_t *prev;  /* where the preceding one starts, or -1 */
    uint32_t *rank; /* of the merge with the following one, or TS_NO_RANK */
    uint64_t *heap; /* rank << 32 | position, smallest first */
    size_t n_heap;
    size_t size; /* bytes the arrays have room for */
} ts_bpe_work;

ts_status ts_bpe_reserve(ts_bpe_work *w, size_t size, ts_error *err);
void ts_bpe_free(ts_bpe_work *w);
/* Merges w->id[0..n), one symbol per byte, in place; returns how many remain. */
size_t ts_bpe_merge(const ts_merge_table *m, ts_bpe_work *w, size_t n);

/* split_regex.c. Rewrites an Oniguruma (Ruby syntax) pattern, as Hugging Face tokenizers runs them,
 * into a PCRE2 one with the same matches. What the two read differently is refused. *out is malloc'd. */
ts_status ts_split_rewrite(const char *file, const char *regex, char **out, ts_error *err);

/* pretokenize.c */
typedef struct ts_split ts_split;
typedef ts_status ts_piece_fn(void *context, const char *piece, size_t size, ts_error *err);

/* `file` must outlive *out: later messages name it. */
ts_status ts_split_compile(const char *file, const char *regex, ts_split **out, ts_error *err);
/* Of a pattern in PCRE2's own syntax. */
ts_status ts_split_compile_native(const char *file, const char *pattern, ts_split **out, ts_error *err);
void ts_split_free(ts_split *s);
/* Calls `piece` for every match and every gap between matches, in order; none is empty. text must be UTF-8.
 */
ts_status ts_split_text(const ts_split *s, const char *text, size_t size, ts_piece_fn *piece, void *context,
                        ts_error *err);

/* lexicon.c: a list of distinct byte strings, sorted. */
typedef struct {
    const char *bytes; /* never empty */
    size_t size;
    int32_t id;
} ts_entry;

typedef struct {
    ts_entry *at;
    size_t count;
    bool first[256]; /* some entry starts with this byte */
} ts_lexicon;

/* Call once when at[0..count) is filled; refuses duplicates. `key` is for messages. */
ts_status ts_lexicon_sort(ts_lexicon *l, const char *file, const char *key, ts_error *err);
/* The id of the entry that is exactly these bytes, or -1. */
int32_t ts_lexicon_find(const ts_lexicon *l, const char *bytes, size_t size);
/* The longest entry that text[0..size) starts with, or NULL. */
const ts_entry *ts_lexicon_prefix(const ts_lexicon *l, const char *text, size_t size);

/* tokenizer.c */
typedef struct {
    const char *bytes; /* NULL: no token has this id */
    size_t size;
} ts_token;

struct ts_tokenizer {
    char *path;
    char *arena; /* the bytes of all tokens, a NUL after each */
    size_t used;
    ts_token *token; /* by id */
    int32_t n_ids;
    ts_lexicon vocab; /* of the model, as raw bytes */
    ts_lexicon added; /* literal contents */
    ts_merge_table merges;
    int32_t byte_id[256]; /* -1: no token for this byte alone */
    bool nfc, ignore_merges;
    bool tiktoken;   /* long texts are refused */
    ts_split *split; /* NULL: the text is one piece */
};

/* tokenizer_rules.c: normalizer, pre_tokenizer and options. Sets nfc, ignore_merges and split;
 * refuses every component that would change the ids and is not implemented. */
ts_status ts_tokenizer_rules(struct ts_tokenizer *t, const cJSON *json, ts_error *err);
/* tokenizer_gguf.c: the tokenizer of a GGUF file as tokenizer.json would have it. */
ts_status ts_tokenizer_gguf(const ts_gguf *g, cJSON **out, ts_error *err);
/* Is it Kimi's, whose merges are all ways to cut a token in two (tokenizer_tiktoken.c)? Then there are none in what
 * ts_tokenizer_gguf gives. */
bool ts_tokenizer_gguf_is_tiktoken(const ts_gguf *g);
/* tokenizer.ggml.pre of an accepted tokenizer.json; NULL: its split has no name. */
const char *ts_tokenizer_gguf_pre(const cJSON *json);
/* tokenizer_tiktoken.c: all of a zeroed tokenizer whose path, a tiktoken.model, is set. */
ts_status ts_tokenizer_tiktoken(struct ts_tokenizer *t, ts_error *err);
/* Its merges and split alone: vocabulary and added tokens are there, merges are not. */
ts_status ts_tokenizer_tiktoken_merge(struct ts_tokenizer *t, ts_error *err);
ts_status ts_tokenizer_tiktoken_fits(const char *file, const char *text, size_t size, ts_error *err);
/* tokenizer_load.c: added tokens, vocabulary and merges of a zeroed tokenizer whose path is set. */
ts_status ts_tokenizer_load(struct ts_tokenizer *t, const cJSON *json, ts_error *err);

#endif
