/* One face for the three engines: ref64, ref32 and fast. */
#ifndef TS_TOOLS_RUNNER_H
#define TS_TOOLS_RUNNER_H

#include "config/profile.h"
#include "config/weights.h"
#include "generate.h"
#include "trace/trace.h"

typedef struct ts_runner ts_runner;

typedef struct {
    const char *engine; /* "ref64", "ref32" or "fast" */
    const ts_profile *profile;
    int64_t capacity;   /* tokens of state */
    int threads;        /* fast only */
    uint64_t page_seed; /* fast only, see fast/engine.h */
    bool poison;        /* fast only */
} ts_runner_options;

/* TS_USAGE for an engine of another name. */
ts_status ts_runner_check_engine(const char *engine, ts_error *err);

/* Borrows w. TS_USAGE for an unknown engine. */
ts_status ts_runner_open(const ts_weights *w, const ts_runner_options *o, ts_runner **out, ts_error *err);
void ts_runner_close(ts_runner *r);
ts_status ts_runner_reset(ts_runner *r, ts_error *err); /* back to position 0 */

ts_dtype ts_runner_dtype(const ts_runner *r); /* of logits and traces: TS_F32 or TS_F64 */
/* As ts_ref.forward: the last `rows` rows of logits in the engine's dtype; logits, trace may be NULL. */
ts_status ts_runner_forward(ts_runner *r, const int32_t *ids, int64_t T, int64_t rows, void *logits,
                            ts_trace *trace, ts_error *err);
/* One layer alone, as ts_ref.layer, state_put and state_trace: x and state in the engine's dtype. */
ts_status ts_runner_layer(ts_runner *r, int64_t layer, const void *x, int64_t T, ts_trace *trace, ts_error *err);
ts_status ts_runner_state_put(ts_runner *r, int64_t layer, int64_t pos, const void *conv_or_k,
                              const void *recurrent_or_v, ts_error *err);
void ts_runner_state_trace(const ts_runner *r, const char *suffix, ts_trace *out);
/* For ts_generate_ids. ref64's logits are rounded to f32 for the sampler. */
ts_stepper ts_runner_stepper(ts_runner *r);

#endif
