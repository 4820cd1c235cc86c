/* The reference as the rest of the project sees it: one table per precision.
 * ts_ref64 is the mathematics in double (with profile `ts`: ref64p); ts_ref32
 * is f32 with every rounding and order declared: what fast paths must match. */
#ifndef TS_MODEL_REF_H
#define TS_MODEL_REF_H

#include "case/op.h"
#include "config/profile.h"
#include "config/weights.h"
#include "format/block.h"
#include "num/status.h"
#include "trace/taps.h"
#include "trace/trace.h"

typedef struct ts_ref_model ts_ref_model;
typedef struct ts_ref_state ts_ref_state;

typedef void ts_mlx_encoder(const float *w, int64_t K, int bits, int group, uint8_t *code, float *scale,
                            float *bias);

typedef struct {
    const char *name;                          /* "ref32", "ref64" */
    ts_dtype dtype;                            /* of ts_real: TS_F32, TS_F64 */
    void (*op)(ts_op_id id, const void *args); /* args with ts_real of this precision */

    /* Borrows w. */
    ts_status (*model_new)(const ts_weights *w, const ts_profile *p, ts_ref_model **out, ts_error *err);
    void (*model_free)(ts_ref_model *m);

    /* State of one sequence: KV pages, recurrent and conv state, position. capacity in tokens. */
    ts_status (*state_new)(const ts_ref_model *m, int64_t capacity, ts_ref_state **out, ts_error *err);
    void (*state_free)(ts_ref_state *s);

    /* Runs ids[T] at the state's position and advances it. logits (may be NULL) gets the last `rows`
     * rows, [rows][V] of ts_real. trace may be NULL. TS_BAD: id out of range, capacity exceeded. */
    ts_status (*forward)(const ts_ref_model *m, ts_ref_state *s, const int32_t *ids, int64_t T, int64_t rows,
                         void *logits, ts_trace *trace, ts_error *err);

    /* Appends cache.L.{conv_states,recurrent_states,k,v} (dtype as above; k, v widened, [Hkv,len,D])
     * of layer L to `out`, each name followed by `suffix`. */
    void (*state_trace)(const ts_ref_model *m, const ts_ref_state *s, const char *suffix, ts_trace *out);

    /* One layer alone, from its input x[T,C] of ts_real: the residual stream before its first norm. Runs at the
     * state's position and advances it, so the state is for this layer only. trace gets what forward would put
     * for the layer, "layer.N.out" last. TS_BAD: capacity exceeded. */
    ts_status (*layer)(const ts_ref_model *m, ts_ref_state *s, int64_t layer, const void *x, int64_t T,
                       ts_trace *trace, ts_error *err);
    /* Sets the position, and what that layer knows of earlier tokens, in ts_real: conv_states [CD,W] and
     * recurrent_states [Hv,Dk,Dv], or k and v [Hkv,pos,D] (rounded as the profile stores them). NULL leaves it as
     * it is; full attention at pos > 0 needs both. TS_BAD: capacity exceeded. */
    ts_status (*state_put)(const ts_ref_model *m, ts_ref_state *s, int64_t layer, int64_t pos,
                           const void *conv_or_k, const void *recurrent_or_v, ts_error *err);

    /* forward with no trace but taps (not NULL). */
    ts_status (*forward_taps)(const ts_ref_model *m, ts_ref_state *s, const int32_t *ids, int64_t T, int64_t rows,
                              void *logits, const ts_taps *taps, ts_error *err);
    /* From now on a pass of at most `rows` tokens keeps what linear attention knows after each of them. */
    ts_status (*state_keep)(const ts_ref_model *m, ts_ref_state *s, int64_t rows, ts_error *err);
    /* The state after its first pos tokens: pos may be a row of the last pass that was kept, or, in a model without
     * linear attention, anything up to the present one. TS_BAD otherwise. */
    ts_status (*state_rewind)(const ts_ref_model *m, ts_ref_state *s, int64_t pos, ts_error *err);

    /* A model of ts_weights_load_mtp: rows (ids[t], hidden[t][C]) at the state's position, which advances.
     * logits[V] of the last row; out[T][C], the rows after the head's norm, may be NULL. */
    ts_status (*mtp)(const ts_ref_model *m, ts_ref_state *s, const int32_t *ids, const void *hidden, int64_t T,
                     void *logits, void *out, ts_error *err);
    /* A model of ts_weights_load_dflash: keys and values of T more tokens, of which taps is `stream` of the
     * target's pass, [T][taps*C]. TS_BAD: one is not finite. */
    ts_status (*dflash_context)(const ts_ref_model *m, ts_ref_state *s, const void *taps, int64_t T, ts_error *err);
    /* The block of the anchor and k masks behind the context, which stays as it is: logits[k][V] of the masks, and
     * g[k][rank] of version 2, for selector_scores. */
    ts_status (*dflash_block)(const ts_ref_model *m, ts_ref_state *s, int32_t anchor, int64_t k, void *logits,
                              void *g, ts_error *err);

    /* Version 2: the slots candidates of one row of logits, and how they follow prev: s[slots] of U[slots] and the
     * row's g. TS_BAD: a NaN among the logits. */
    ts_status (*dflash_candidates)(const ts_ref_model *m, const void *logits, int32_t *cand, void *U,
                                   ts_error *err);
    ts_status (*dflash_scores)(const ts_ref_model *m, int32_t prev, const int32_t *cand, const void *U,
                               const void *g, void *s, ts_error *err);

    /* Rows of ggml's blocks; see ref/op/block.h. x and y of decode and dot are of ts_real, encode is f32 in both
     * tables. n: a multiple of the block's elements. */
    void (*block_decode)(ts_weight_format format, const uint8_t *row, int64_t n, void *x);
    void (*block_encode)(ts_weight_format format, ts_block_rule rule, const float *x, int64_t n, uint8_t *row);
    void (*block_dot)(ts_weight_format format, const uint8_t *w, const uint8_t *a, int64_t n, void *y);

    /* MLX encoders mlx-cpu, mlx-metal and lse; see ref/op/mlx_encode.c. f32 in both tables. */
    ts_mlx_encoder *mlx_encode, *mlx_encode_metal, *lse_encode;
} ts_ref;

extern const ts_ref ts_ref32, ts_ref64;

#endif
