/* sha256 (libcrypto), the only hash. hex is empty if there is none (out of memory, unreadable file). */
#ifndef TS_NUM_SHA256_H
#define TS_NUM_SHA256_H

#include <stddef.h>
#include "num/status.h"

enum { TS_SHA256_HEX = 65 };

void ts_sha256(const void *data, size_t size, char hex[TS_SHA256_HEX]);
ts_status ts_sha256_file(const char *path, char hex[TS_SHA256_HEX], ts_error *err);

/* Incremental form. */
typedef struct ts_sha256_ctx ts_sha256_ctx;
ts_sha256_ctx *ts_sha256_new(void); /* NULL: out of memory */
void ts_sha256_add(ts_sha256_ctx *c, const void *data, size_t size);
void ts_sha256_end(ts_sha256_ctx *c, char hex[TS_SHA256_HEX]); /* frees c */

#endif
