/* cJSON with the strictness that files from strangers need: duplicate keys,
 * trailing text and nesting bombs are errors; numbers are checked for
 * integrality and range when read. Every getter names file and key on failure. */
#ifndef TS_FORMAT_JSON_H
#define TS_FORMAT_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include "num/status.h"

/* Parses text[size] (need not be NUL terminated). `file` is only for messages. */
ts_status ts_json_parse(const char *file, const char *text, size_t size, cJSON **out, ts_error *err);
/* Reads and parses a file of at most 100,000,000 bytes. */
ts_status ts_json_load(const char *file, cJSON **out, ts_error *err);
/* Prints (formatted, one trailing newline) and writes atomically (temporary file, fsync, rename). */
ts_status ts_json_save(const char *file, const cJSON *json, ts_error *err);

/* Reads a whole file into a malloc'd, NUL terminated buffer. */
ts_status ts_read_file(const char *file, char **text, size_t *size, ts_error *err);
ts_status ts_write_file(const char *file, const void *data, size_t size, ts_error *err);

/* Required members of object `o`; wrong type, absent, fractional or out of range: TS_BAD. */
ts_status ts_json_int(const char *file, const cJSON *o, const char *key, int64_t lo, int64_t hi, int64_t *out,
                      ts_error *err);
ts_status ts_json_double(const char *file, const cJSON *o, const char *key, double *out, ts_error *err);
ts_status ts_json_string(const char *file, const cJSON *o, const char *key, const char **out, ts_error *err);
/* Optional forms leave *out untouched when the key is absent or null. */
ts_status ts_json_opt_int(const char *file, const cJSON *o, const char *key, int64_t lo, int64_t hi, int64_t *out,
                          ts_error *err);
ts_status ts_json_opt_double(const char *file, const cJSON *o, const char *key, double *out, ts_error *err);
ts_status ts_json_opt_bool(const char *file, const cJSON *o, const char *key, bool *out, ts_error *err);
/* An integer kept exact up to 2^64-1: read from its digits, not from the double. */
ts_status ts_json_u64_string(const char *file, const cJSON *o, const char *key, uint64_t *out,
                             ts_error *err); /* "0x…" or decimal string */

#endif
