/* Checkpoints as GGUF files that llama.cpp loads. */
#ifndef TS_TOOLS_CONVERT_H
#define TS_TOOLS_CONVERT_H

#include "config/weights.h"
#include "format/gguf_write.h"

#define TS_CONVERT_TYPES "f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q4_k, q5_k, q6_k, iq4_nl, iq4_xs, mxfp4"

typedef struct {
    size_t tensors;
    uint64_t bytes; /* of their data */
} ts_convert_result;

/* Folder `from` (Hugging Face or plain MLX names) as the file `to`, matrices as `type` (of TS_CONVERT_TYPES),
 * everything else as F32. The file appears whole or not at all. */
ts_status ts_convert_gguf(const char *from, const char *to, const char *type, ts_convert_result *result,
                          ts_error *err);

/* convert_keys.c: general.*, the architecture's keys and the tokenizer's. `dir` has config.json and may have
 * tokenizer.json. */
ts_status ts_convert_keys(const ts_weights *w, const char *dir, const ts_ggml_type *type, ts_gguf_out *out,
                          ts_error *err);

/* general.architecture of a model. */
const char *ts_convert_architecture(const ts_config *c);

#endif
