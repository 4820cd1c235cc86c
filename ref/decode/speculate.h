/* Speculative generation: draft k tokens, verify them in one pass of the target, keep what the verifier accepts
 * (docs/speculation.md).
 *
 * A round starts with n tokens run and the anchor, token n, emitted but not run. The target runs the anchor and the
 * drafts; of its k + 1 rows the first m stay, m the number of tokens that the round emits, and the last of these is
 * the next anchor. The state after a round is that of a plain run of the first n + m tokens. */
#ifndef TS_DECODE_SPECULATE_H
#define TS_DECODE_SPECULATE_H

#include "config/config.h"
#include "generate.h"
#include "num/dtype.h"
#include "round.h"
#include "trace/taps.h"

/* What rounds ask of an engine, target and drafter: the reference's functions of these names (model/ref.h), or the
 * fast engine's. Reals are of `dtype`. What its drafter does not have is NULL. */
typedef struct {
    void *ctx;
    ts_dtype dtype; /* TS_F32 or TS_F64 */
    ts_status (*forward)(void *ctx, const int32_t *ids, int64_t T, int64_t rows, void *logits, const ts_taps *taps,
                         ts_error *err);
    /* From now on a pass of at most so many rows can be undone in part. A prompt is run before, as plain generation
     * runs it: what can be undone goes token by token, which some profiles' prefill does not. */
    ts_status (*keep)(void *ctx, int64_t rows, ts_error *err);
    ts_status (*rewind)(void *ctx, int64_t pos, ts_error *err); /* to a row of the last such pass */

    ts_status (*mtp)(void *ctx, const int32_t *ids, const void *hidden, int64_t T, void *logits, void *out,
                     ts_error *err);
    ts_status (*mtp_rewind)(void *ctx, int64_t pos, ts_error *err);

    ts_status (*context)(void *ctx, const void *taps, int64_t T, ts_error *err);
    ts_status (*block)(void *ctx, int32_t anchor, int64_t k, void *logits, void *g, ts_error *err);
    ts_status (*candidates)(void *ctx, const void *logits, int32_t *cand, void *U, ts_error *err);
    ts_status (*scores)(void *ctx, int32_t prev, const int32_t *cand, const void *U, const void *g, void *s,
                        ts_error *err);
} ts_round_engine;

typedef struct {
    const ts_round_engine *engine;
    const ts_config *target, *drafter;
    ts_verifier verifier;
    int k;
    int64_t capacity; /* of the engine's state, in tokens; close to it rounds are shorter */
    int64_t piece;    /* prefill in pieces of this many tokens; 0 = whole */
    ts_sampling sampling;
    const ts_filter64 *wide; /* laws in double, without penalties, for ref64 against outside goldens; NULL: as the
                              * sampler has them, from f32 logits */
    int64_t max_new;
    /* Each may be NULL; non-zero ends the run, which is no error. on_token: every id that goes out, on_round: after
     * the round's commit. */
    int (*on_token)(void *user, int32_t id);
    int (*on_round)(void *user, const ts_round *r);
    void *user;
} ts_speculation;

typedef struct ts_speculator ts_speculator;

/* Errors: k outside 1..TS_MAX_DRAFT or a DFlash block, bad sampling parameters. A drafter that draws from no law
 * proposes point masses, which every verifier takes. Borrows g's pointers. */
ts_status ts_speculator_new(const ts_speculation *g, ts_speculator **out, ts_error *err);
void ts_speculator_free(ts_speculator *s);
/* Runs the prompt and emits the first token, which belongs to no round. */
ts_status ts_speculator_prefill(ts_speculator *s, const int32_t *prompt, size_t n, ts_error *err);
/* One round of min(k, what the capacity leaves) proposals; k = 0 is a plain step. *out may be NULL. */
ts_status ts_speculator_round(ts_speculator *s, int k, ts_round *out, ts_error *err);
/* The same round, recorded as this engine has it, but what goes out is what `outcome` emitted in its place: the
 * engine is led along another's stream, so that two engines' rounds can be told apart one by one. TS_BAD: outcome
 * is of another n or anchor, emitted nothing or an id outside the vocabulary; TS_USAGE: its k is above this run's.
 */
ts_status ts_speculator_follow(ts_speculator *s, const ts_round *outcome, ts_round *out, ts_error *err);
/* A stop id was emitted, or max_new ids were, or a callback had enough. */
bool ts_speculator_done(const ts_speculator *s);

/* Led along the rounds of a record, n_rounds of them, the first after the prompt's last token. */
ts_status ts_speculate_along(const ts_speculation *g, const int32_t *prompt, size_t n_prompt, const ts_round *along,
                             size_t n_rounds, ts_generated *out, ts_error *err);
/* As ts_generate_ids, in rounds. */
ts_status ts_speculate_ids(const ts_speculation *g, const int32_t *prompt, size_t n_prompt, ts_generated *out,
                           ts_error *err);

#endif
