/* Plain generation: prefill, then one token at a time, until a stop id or n ids.
 * The token sampled at output index i is drawn at position prompt length + i (see sample.h). */
#ifndef TS_DECODE_GENERATE_H
#define TS_DECODE_GENERATE_H

#include "config/config.h"
#include "sample.h"

/* Whatever turns ids into logits: ref32, ref64 or the fast engine. forward runs ids[T] and writes the
 * last row's logits[V] as f32. */
typedef struct {
    void *ctx;
    int64_t V;
    ts_status (*forward)(void *ctx, const int32_t *ids, int64_t T, float *logits, ts_error *err);
} ts_stepper;

typedef struct {
    const ts_stepper *stepper;
    const ts_config *cfg; /* stop ids */
    ts_sampling sampling;
    int64_t max_new; /* 0: prefill only */
    int64_t piece;   /* prefill in pieces of this many tokens; 0 = whole */
    /* called for every emitted id, stop id included, with candidates and weights NULL; may be NULL;
     * non-zero stops (not an error, the id stays in the output) */
    int (*on_token)(void *user, int32_t id, const ts_sample *how);
    void *user;
} ts_generation;

typedef struct {
    int32_t *ids; /* malloc'd, without the prompt, with the stop id */
    size_t n;
    bool stopped; /* by a stop id */
    double prefill_seconds, decode_seconds;
} ts_generated;

/* Errors: empty prompt, ids outside [0,V), bad sampling parameters, whatever forward or the sampler
 * reports; *out then holds nothing to free. */
ts_status ts_generate_ids(const ts_generation *g, const int32_t *prompt, size_t n_prompt, ts_generated *out,
                          ts_error *err);

#endif
