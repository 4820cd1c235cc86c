/* Models of true shapes with random weights: what touchstone synth writes, so that speed can be measured
 * without anybody's checkpoint. The bytes depend on shape, format, bits, group and seed only. */
#ifndef TS_TOOLS_SYNTH_H
#define TS_TOOLS_SYNTH_H

#include <stdbool.h>
#include "num/dtype.h"
#include "num/status.h"
#include "staging.h"

typedef struct {
    const char *name;
    int64_t V, C, I, layers; /* as in ts_config */
    int64_t Hq, Hkv, D, R;
    int64_t Hk, Hv, Dk, Dv, W;
    int64_t interval; /* layer i is full attention if it divides i + 1 */
    int64_t max_positions;
    bool tied;
} ts_synth_shape;

#define TS_SYNTH_SHAPES "qwen3.5-0.8b, qwen3.5-4b, qwen3.5-27b-layer, tiny-qwen35"
/* By name, "qwen3.5-" may be left out; or NULL. */
const ts_synth_shape *ts_synth_shape_find(const char *name);
bool ts_synth_is_full(const ts_synth_shape *s, int64_t layer);
/* How the R/2 rotary pairs are shared between three kinds of position; of text all three are the same. */
void ts_synth_sections(const ts_synth_shape *s, int section[3]);

typedef enum { TS_SYNTH_BF16, TS_SYNTH_MLX, TS_SYNTH_GGUF } ts_synth_format;

typedef struct {
    const ts_synth_shape *shape;
    ts_synth_format format;
    int bits, group; /* MLX only */
    uint64_t seed;
    uint64_t file_bytes; /* most in one file of safetensors; 0: 5 GB, as Hugging Face and mlx-lm cut them */
} ts_synth_options;

typedef struct {
    size_t tensors;
    uint64_t bytes; /* of the tensors */
    int files;      /* that hold them */
} ts_synth_result;

/* Folder `out` must be absent or empty; it appears whole or not at all. */
ts_status ts_synth(const ts_synth_options *o, const char *out, ts_synth_result *result, ts_error *err);

/* How the bytes of a tensor come from random ones. u is uniform in (-1, 1). */
typedef enum {
    TS_MAKE_BITS,   /* as drawn */
    TS_MAKE_BF16,   /* centre + spread*u */
    TS_MAKE_F32,    /* the same */
    TS_MAKE_SCALES, /* bf16: spread times 3/4 to 5/4, of either sign */
    TS_MAKE_BIASES, /* bf16: -centre times the scale that TS_MAKE_SCALES gives the same stream */
    TS_MAKE_Q4_K,   /* ggml's blocks of 144 and 210 bytes for 256 weights of standard deviation `spread` */
    TS_MAKE_Q6_K,
} ts_synth_make;

enum { TS_SYNTH_NAME = 96, TS_SYNTH_PIECE = 5040 * 208 };

typedef struct {
    ts_tensor t; /* GGUF: dtype U8, the shape in elements all the same */
    char name[TS_SYNTH_NAME];
    ts_synth_make make;
    float centre, spread;
    uint32_t stream;
} ts_synth_tensor;

/* The `size` bytes at `offset`, a multiple of TS_SYNTH_PIECE. */
void ts_synth_fill(const ts_synth_tensor *t, uint64_t seed, uint64_t offset, void *piece, size_t size);

enum { TS_SYNTH_SHARDS = 4 }; /* at most: what TS_STAGING_FILES leaves */

typedef struct {
    ts_synth_tensor *tensor; /* in name order; for GGUF as laid out */
    size_t n;
    uint64_t bytes;
    int files;                         /* that hold them */
    size_t first[TS_SYNTH_SHARDS + 1]; /* file i has tensors first[i] to first[i + 1] */
    char file[TS_SYNTH_SHARDS][48];
} ts_synth_plan;

ts_status ts_synth_plan_new(const ts_synth_options *o, ts_synth_plan *out, ts_error *err);
void ts_synth_plan_free(ts_synth_plan *p);

/* Adds model.gguf to the folder being made. */
ts_status ts_synth_gguf(const ts_synth_options *o, const ts_synth_plan *p, ts_staging *s, ts_error *err);

#endif
