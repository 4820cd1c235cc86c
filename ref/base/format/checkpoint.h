/* A checkpoint folder: model.safetensors, or model.safetensors.index.json and
 * its shards, seen as one set of tensors. */
#ifndef TS_FORMAT_CHECKPOINT_H
#define TS_FORMAT_CHECKPOINT_H

#include "format/safetensors.h"

typedef struct ts_checkpoint ts_checkpoint;

/* `path` is a folder or one .safetensors file. Errors: neither file present, a mapped tensor that
 * is not in its shard, a shard tensor that is not in the map, a shard outside the folder. */
ts_status ts_checkpoint_open(const char *path, ts_checkpoint **out, ts_error *err);
void ts_checkpoint_close(ts_checkpoint *c);

size_t ts_checkpoint_count(const ts_checkpoint *c);
const ts_tensor *ts_checkpoint_at(const ts_checkpoint *c, size_t i);
/* The tensor, or NULL. *file (may be NULL) gets the shard's path. No page of its data is touched. */
const ts_tensor *ts_checkpoint_find(ts_checkpoint *c, const char *name, const char **file);
/* Aligns the data of t, a tensor of c, to its element size: if the file has it unaligned it is copied
 * once, and the copy lives as long as c. */
ts_status ts_checkpoint_align(ts_checkpoint *c, const ts_tensor *t, ts_error *err);

/* sha256 over "name\n" + file bytes of every shard, in sorted name order. */
ts_status ts_checkpoint_sha256(const ts_checkpoint *c, char hex[65], ts_error *err);

#endif
