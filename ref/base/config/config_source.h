/* Private to config/config*.c: the file at hand, and what every family's reader needs. */
#ifndef TS_CONFIG_CONFIG_SOURCE_H
#define TS_CONFIG_CONFIG_SOURCE_H

#include "config/config.h"
#include "format/json.h"

enum { MAX_DIM = 1 << 20, MAX_POSITIONS = 1 << 24 };

/* `root` is the file's object; `text` the one with the text model's keys: root or root.text_config. */
typedef struct {
    const char *file;
    const cJSON *root, *text;
    ts_error *err;
} ts_config_source;

typedef struct {
    const char *key;
    int64_t most, *out;
} ts_config_dim;

/* NULL if the key is absent or null. */
const cJSON *ts_config_item(const cJSON *o, const char *key);
ts_status ts_config_bad(const ts_config_source *s, const char *key, const char *reason);
/* n positive integers of the text's. */
ts_status ts_config_dims(const ts_config_source *s, const ts_config_dim *dim, size_t n);
/* layer_types -> c->full. */
ts_status ts_config_layer_list(const ts_config_source *s, const cJSON *list, ts_config *c);
/* A name that may be absent, else is one of two. */
ts_status ts_config_name(const ts_config_source *s, const char *key, const char *one, const char *other);

/* The object of rotary parameters, under its present or its older name, NULL if there is neither. TS_BAD: another
 * kind than "default". */
ts_status ts_config_rope(const ts_config_source *s, const cJSON **rope);

/* What Kimi-Linear has in place of Qwen's dims, rope and layers. */
ts_status ts_config_kimi(const ts_config_source *s, ts_config *c);
/* Experts, after dims and layers. */
ts_status ts_config_moe(const ts_config_source *s, ts_config *c);

/* The short names that the readers use. */
typedef ts_config_source source;

static inline const cJSON *item(const cJSON *o, const char *key)
{
    return ts_config_item(o, key);
}

static inline ts_status bad(const source *s, const char *key, const char *reason)
{
    return ts_config_bad(s, key, reason);
}

#endif
