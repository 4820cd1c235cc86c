/* Private to config/gguf_*.c: a file's metadata on its way into the words of a config.json. */
#ifndef TS_CONFIG_GGUF_SOURCE_H
#define TS_CONFIG_GGUF_SOURCE_H

#include "config/gguf_config.h"

enum { TS_GGUF_KEY = 128 };

typedef struct {
    const ts_gguf *g;
    char name[TS_GGUF_ARCH];
    int arch;
    cJSON *o; /* of the config */
    int64_t layers;
    ts_error *err;
} ts_gguf_source;

ts_status ts_gguf_bad(const ts_gguf_source *s, const char *key, const char *what);
/* Of the key <architecture>.name, which goes to `key`; NULL: there is none. */
const ts_gguf_value *ts_gguf_own(const ts_gguf *g, const char *name, char key[TS_GGUF_KEY]);
/* Entry i of a value that may be one number for all. */
ts_status ts_gguf_whole(const ts_gguf *g, const ts_gguf_value *v, uint64_t i, int64_t *out, ts_error *err);
ts_status ts_gguf_need_int(const ts_gguf_source *s, const char *name, int64_t *out);

/* Of a config's members, the key they come from and whether a file may do without it. */
typedef struct {
    const char *name, *as;
    bool optional;
} ts_gguf_member;

ts_status ts_gguf_add_ints(const ts_gguf_source *s, const ts_gguf_member *m, size_t n);
ts_status ts_gguf_add_real(const ts_gguf_source *s, const char *name, const char *as);
/* vocab_size: the key's, or the rows of token_embd; and whether the head is tied. */
ts_status ts_gguf_add_vocabulary(const ts_gguf_source *s);

/* What kimi-linear has in place of Qwen's keys, after those that all have. */
ts_status ts_gguf_kimi(const ts_gguf_source *s);

#endif
