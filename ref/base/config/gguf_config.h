/* A GGUF file's metadata as the config.json that its model would have. */
#ifndef TS_CONFIG_GGUF_CONFIG_H
#define TS_CONFIG_GGUF_CONFIG_H

#include "config/config.h"
#include "format/gguf.h"
#include "format/json.h"

/* Architectures qwen35, qwen35moe, qwen3next and kimi-linear; others are refused by name. */
ts_status ts_gguf_config(const ts_gguf *g, cJSON **out, ts_error *err);
/* Of architecture dflash, a drafter for `target`: for ts_config_take_dflash. Names of its tensors: TS_NAMES_DFLASH
 * (config/names.h). */
ts_status ts_gguf_dflash_config(const ts_gguf *g, const ts_config *target, cJSON **out, ts_error *err);
/* "<architecture>.<name>": a whole number; absent: *out stays as it is. */
ts_status ts_gguf_opt_int(const ts_gguf *g, const char *name, int64_t *out, ts_error *err);
/* general.architecture, NUL terminated. */
enum { TS_GGUF_ARCH = 32 };
ts_status ts_gguf_architecture(const ts_gguf *g, char out[TS_GGUF_ARCH], ts_error *err);

#endif
