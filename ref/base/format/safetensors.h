/* safetensors files, mmapped read-only. Every rule of the format is enforced on
 * open: header size, duplicate keys, dtypes, shapes, overflow, and that the
 * tensors tile the data section exactly. */
#ifndef TS_FORMAT_SAFETENSORS_H
#define TS_FORMAT_SAFETENSORS_H

#include <stdbool.h>
#include "num/dtype.h"
#include "num/status.h"

typedef struct ts_safetensors ts_safetensors;

ts_status ts_safetensors_open(const char *path, ts_safetensors **out, ts_error *err);
void ts_safetensors_close(ts_safetensors *f); /* NULL is fine */

const char *ts_safetensors_path(const ts_safetensors *f);
const void *ts_safetensors_bytes(const ts_safetensors *f, size_t *size); /* the whole file, for hashing */
size_t ts_safetensors_count(const ts_safetensors *f);
/* Tensors in file (offset) order. Data may be unaligned: read through memcpy or ts_tensor_get. */
const ts_tensor *ts_safetensors_at(const ts_safetensors *f, size_t i);
const ts_tensor *ts_safetensors_find(const ts_safetensors *f, const char *name); /* or NULL */
const char *ts_safetensors_meta(const ts_safetensors *f, const char *key);       /* or NULL */
/* The i-th entry of the metadata; false past the last. */
bool ts_safetensors_meta_at(const ts_safetensors *f, size_t i, const char **key, const char **value);

typedef struct {
    const char *key, *value;
} ts_meta;

/* Writes tensors in the given order, atomically and deterministically (header padded to 8 bytes,
 * keys in the given order, metadata first). */
ts_status ts_safetensors_write(const char *path, const ts_tensor *tensors, size_t count, const ts_meta *meta,
                               size_t n_meta, ts_error *err);

/* Puts the `size` bytes at `offset` of tensor i into `piece`. */
typedef void ts_tensor_source(void *context, size_t i, uint64_t offset, void *piece, size_t size);
/* The same for data that is made while it is written, in order, `piece` bytes at a time; tensors[].data is not
 * read. */
ts_status ts_safetensors_stream(const char *path, const ts_tensor *tensors, size_t count, const ts_meta *meta,
                                size_t n_meta, ts_tensor_source *source, void *context, size_t piece,
                                ts_error *err);

#endif
