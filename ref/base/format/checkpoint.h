/* A checkpoint: a folder with model.safetensors, or with model.safetensors.index.json and
 * its shards, seen as one set of tensors; or a GGUF file. */
#ifndef TS_FORMAT_CHECKPOINT_H
#define TS_FORMAT_CHECKPOINT_H

#include "format/gguf.h"
#include "format/safetensors.h"

typedef struct ts_checkpoint ts_checkpoint;

/* `path` is a folder, one .safetensors file or one GGUF file. Errors: neither file present, a mapped tensor that
 * is not in its shard, a shard tensor that is not in the map, a shard outside the folder. */
ts_status ts_checkpoint_open(const char *path, ts_checkpoint **out, ts_error *err);
void ts_checkpoint_close(ts_checkpoint *c);

size_t ts_checkpoint_count(const ts_checkpoint *c);
const ts_tensor *ts_checkpoint_at(const ts_checkpoint *c, size_t i);
/* The tensor, or NULL. *file (may be NULL) gets the shard's path. No page of its data is touched. */
const ts_tensor *ts_checkpoint_find(ts_checkpoint *c, const char *name, const char **file);
/* The GGUF file, or NULL. Its tensors of blocks have dtype U8 (format/gguf.h). */
const ts_gguf *ts_checkpoint_gguf(const ts_checkpoint *c);
/* ggml's type of t, a tensor of c; NULL: the checkpoint is no GGUF file. */
const ts_ggml_type *ts_checkpoint_type(const ts_checkpoint *c, const ts_tensor *t);
/* Aligns the data of t, a tensor of c, to its element size (of blocks: to 2): if the file has it unaligned it is copied
 * once, and the copy lives as long as c. */
ts_status ts_checkpoint_align(ts_checkpoint *c, const ts_tensor *t, ts_error *err);

/* sha256 over "name\n" + file bytes of every shard, in sorted name order. */
ts_status ts_checkpoint_sha256(const ts_checkpoint *c, char hex[65], ts_error *err);

#endif
