/* The host engine: prefill and decode of one sequence through the registry, KV
 * in 16-token pages, threads over independent outputs only. */
#ifndef TS_FAST_ENGINE_H
#define TS_FAST_ENGINE_H

#include "config/profile.h"
#include "config/weights.h"
#include "trace/taps.h"
#include "trace/trace.h"

typedef struct ts_engine ts_engine;

typedef struct {
    int threads;        /* >= 1 */
    int64_t capacity;   /* tokens */
    uint64_t page_seed; /* 0: pages in order; else a seeded permutation of the pool (same bits) */
    bool poison;        /* fill free pages and padding with NaN (same bits) */
} ts_engine_options;

/* Borrows w; makes packed copies of its matrices where a schedule wants them. */
ts_status ts_engine_new(const ts_weights *w, const ts_profile *p, const ts_engine_options *o, ts_engine **out,
                        ts_error *err);
void ts_engine_free(ts_engine *e);

/* Runs ids[T] (any T >= 1) at the current position; logits (may be NULL) gets the last `rows` rows
 * [rows][V]. trace may be NULL; names as in the reference's traces. */
ts_status ts_engine_forward(ts_engine *e, const int32_t *ids, int64_t T, int64_t rows, float *logits,
                            ts_trace *trace, ts_error *err);

/* One layer alone, from its input x[T,C] (T >= 1): the residual stream before its first norm. Runs at the current
 * position and advances it, so the engine is then for this layer only. trace gets what a forward would put for the
 * layer, "layer.N.out" last. */
ts_status ts_engine_forward_layer(ts_engine *e, int64_t layer, const float *x, int64_t T, ts_trace *trace,
                                  ts_error *err);
/* Sets the position, and what that layer knows of earlier tokens: conv_states [CD,W] and recurrent_states
 * [Hv,Dk,Dv], or k and v [Hkv,pos,D] (rounded as the profile stores them). NULL leaves it as it is; full attention
 * at pos > 0 needs both. */
ts_status ts_engine_state_put(ts_engine *e, int64_t layer, int64_t pos, const float *conv_or_k,
                              const float *recurrent_or_v, ts_error *err);
/* Appends cache.L.{conv_states,recurrent_states,k,v} of every layer L (F32; k, v widened, [Hkv,len,D]) to `out`,
 * each name followed by `suffix`. */
void ts_engine_state_trace(const ts_engine *e, const char *suffix, ts_trace *out);

/* forward with no trace but taps (not NULL). */
ts_status ts_engine_forward_taps(ts_engine *e, const int32_t *ids, int64_t T, int64_t rows, float *logits,
                                 const ts_taps *taps, ts_error *err);
/* From now on a forward of at most `rows` tokens can be undone in part. */
ts_status ts_engine_keep(ts_engine *e, int64_t rows, ts_error *err);
/* The state after its first pos tokens: pos may be a row of the last such forward, or, in a model without linear
 * attention, anything up to the present one. */
ts_status ts_engine_rewind(ts_engine *e, int64_t pos, ts_error *err);

/* An engine of a drafter (config/draft.h) over the target's: it runs the functions below, borrows w and the
 * target's packed head, and must be freed first. Arguments as in ts_ref's functions of these names. */
ts_status ts_engine_new_drafter(const ts_weights *w, const ts_engine *target, ts_engine **out, ts_error *err);
ts_status ts_engine_mtp(ts_engine *e, const int32_t *ids, const float *hidden, int64_t T, float *logits, float *out,
                        ts_error *err);
ts_status ts_engine_dflash_context(ts_engine *e, const float *taps, int64_t T, ts_error *err);
ts_status ts_engine_dflash_block(ts_engine *e, int32_t anchor, int64_t k, float *logits, float *g, ts_error *err);
ts_status ts_engine_dflash_candidates(ts_engine *e, const float *logits, int32_t *cand, float *U, ts_error *err);
ts_status ts_engine_dflash_scores(ts_engine *e, int32_t prev, const int32_t *cand, const float *U, const float *g,
                                  float *s, ts_error *err);

/* Back to position 0, as new. */
void ts_engine_reset(ts_engine *e);

#endif
