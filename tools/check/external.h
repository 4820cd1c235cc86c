/* Checks against goldens made by software that is not ours: one function each,
 * named by the `check` field of the case. They add their findings. */
#ifndef TS_CHECK_EXTERNAL_H
#define TS_CHECK_EXTERNAL_H

#include "check/check.h"
#include "format/safetensors.h"

void ts_external_trace(ts_check *k, const ts_case *c);      /* float64 traces of a whole model */
void ts_external_nll(ts_check *k, const ts_case *c);        /* negative log-likelihood per token */
void ts_external_sample(ts_check *k, const ts_case *c);     /* sampled streams in float64 */
void ts_external_sampler(ts_check *k, const ts_case *c);    /* the sampler alone */
void ts_external_tokenizer(ts_check *k, const ts_case *c);  /* texts and ids */
void ts_external_delta_rule(ts_check *k, const ts_case *c); /* GDN step and chunk */
void ts_external_attention(ts_check *k, const ts_case *c);  /* split attention with partial records */
void ts_external_mlx(ts_check *k, const ts_case *c);        /* MLX affine encoder and packing */
void ts_external_blocks(ts_check *k, const ts_case *c);     /* ggml blocks: encoders, decoders, products */
void ts_external_w4a8(ts_check *k, const ts_case *c);       /* hashes of panels and products on a published input */
void ts_external_dgemm(ts_check *k, const ts_case *c);      /* OpenBLAS as a witness of ref64's products */
void ts_external_peer(ts_check *k, const ts_case *c);       /* greedy ids of another engine, in its profile */
void ts_external_rounds(ts_check *k, const ts_case *c);     /* draft-verify rounds in float64 */
void ts_external_w8a8(ts_check *k, const ts_case *c);       /* 8-bit codes, sums and f16 outputs of W8A8 */

/* Opens golden/<case[key]>. */
ts_status ts_external_open(ts_check *k, const ts_case *c, const char *key, ts_safetensors **out, ts_error *err);
/* The tensor, of that dtype; missing or other: TS_BAD. */
ts_status ts_external_tensor(const ts_safetensors *f, const char *name, ts_dtype dtype, const ts_tensor **out,
                             ts_error *err);
/* A malloc'd, aligned copy of its data. */
void *ts_external_copy(const ts_tensor *t);

#endif
