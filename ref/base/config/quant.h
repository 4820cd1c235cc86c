/* MLX "quantization" of config.json: bits and group for all modules, and the
 * modules that have their own or none. Keys of the second kind are module paths
 * as in the file's tensor names, without .weight, with or without a leading
 * "language_model.". */
#ifndef TS_CONFIG_QUANT_H
#define TS_CONFIG_QUANT_H

#include <stdbool.h>
#include <stddef.h>
#include "format/json.h"
#include "num/status.h"

typedef struct {
    int bits, group; /* 2, 3, 4, 5, 6 or 8; 32, 64 or 128. 0: not quantised */
    bool own;        /* an override, not the default */
} ts_quant_kind;

typedef struct {
    char *module; /* without "language_model." */
    ts_quant_kind kind;
} ts_quant_override;

typedef struct {
    ts_quant_kind all;
    ts_quant_override *own; /* [n], sorted by module */
    size_t n;
} ts_quant;

/* Of a parsed config.json; all zero without a quantization. Objects of the name "quantization" and
 * "quantization_config", beside or inside "text_config", must say the same. */
ts_status ts_quant_read(const char *file, const cJSON *root, ts_quant *out, ts_error *err);
/* Of a config.json by path. */
ts_status ts_quant_load(const char *path, ts_quant *out, ts_error *err);
void ts_quant_free(ts_quant *q);

/* Is it one of the widths, one of the group sizes that are read? */
bool ts_quant_bits_ok(int64_t bits);
bool ts_quant_group_ok(int64_t group);
/* The module's name without "language_model.". */
const char *ts_quant_plain(const char *module);

/* What the config says of the module of that full name. */
ts_quant_kind ts_quant_of(const ts_quant *q, const char *module);

#endif
