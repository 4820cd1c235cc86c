/* Drafters, as weights like a model's own: the head of multi-token prediction (MTP) and DFlash.
 *
 * MTP (Qwen3-Next, 3.5, 3.6, 3.8): `layer` is one block of full attention, `fc` joins an embedding and a hidden
 * state, final_norm is the head's own. DFlash: layers of plain attention over a context that `fc` makes of the
 * target's residual streams; version 2 adds convolutions around every sublayer and a selector of candidates.
 * Embedding and head are the target's, borrowed, so the target must outlive them. Names, shapes and rules:
 * docs/speculation.md, drafters. */
#ifndef TS_CONFIG_DRAFT_H
#define TS_CONFIG_DRAFT_H

#include <cjson/cJSON.h>
#include "config/weights.h"

/* path: a .safetensors file with mtp.* tensors or a folder of one; NULL: mtp.safetensors beside the target's files,
 * or else the target's own mtp.* or nextn tensors. NAME-config.json beside NAME.safetensors, if there is one, says
 * how it is quantised. TS_BAD: none there; more than one head; a tensor that is missing or of another shape. */
ts_status ts_weights_load_mtp(const ts_weights *target, const char *path, ts_weights **out, ts_error *err);

/* path: a .safetensors file with its NAME-config.json beside it, a folder with config.json, or a GGUF file; NULL:
 * dflash2.safetensors beside the target's files. TS_BAD also for a drafter of another model (hidden size,
 * vocabulary, number of layers). */
ts_status ts_weights_load_dflash(const ts_weights *target, const char *path, ts_weights **out, ts_error *err);

/* What `fc` reads of a token, 0: c is no drafter's. */
int64_t ts_draft_joint(const ts_config *c);
/* Tokens that a state of `capacity` tokens must hold at once: of a drafter whose layers all slide, its window and a
 * block, else all. */
int64_t ts_draft_span(const ts_config *c, int64_t capacity);

/* The first of n tokens that the layer's next row can see: what a ring still holds. */
int64_t ts_draft_first_seen(const ts_config *c, int64_t layer, int64_t n);

/* The file of that name in the target's folder: dir of target->path, or itself if it is one. */
ts_status ts_draft_beside(const ts_weights *target, const char *name, char *out, size_t size, ts_error *err);

/* config.json in a folder, NAME-config.json beside NAME.safetensors. */
ts_status ts_draft_config(const char *path, char *out, size_t size, ts_error *err);

/* A DFlash config. TS_BAD: what its reader does not know or the target does not fit. */
ts_status ts_config_load_dflash(const char *path, const ts_config *target, ts_config *out, ts_error *err);

/* The same of a parsed one (of GGUF metadata). */
ts_status ts_config_take_dflash(const char *file, const cJSON *json, const ts_config *target, ts_config *out,
                                ts_error *err);

#endif
