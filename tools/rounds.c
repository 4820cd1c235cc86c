#include "rounds.h"

#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "ref.h"

/* A model and its state, or an engine. */
typedef struct {
    const ts_ref *ref;
    ts_ref_model *model;
    ts_ref_state *state;
    ts_engine *engine;
} side;

struct ts_rounds {
    side target, drafter;
    ts_round_engine engine;
};

static ts_status forward(void *ctx, const int32_t *ids, int64_t T, int64_t rows, void *logits, const ts_taps *taps,
                         ts_error *err)
{
    const side *t = &((ts_rounds *)ctx)->target;
    return t->ref->forward_taps(t->model, t->state, ids, T, rows, logits, taps, err);
}

static ts_status keep(void *ctx, int64_t rows, ts_error *err)
{
    const side *t = &((ts_rounds *)ctx)->target;
    return t->ref->state_keep(t->model, t->state, rows, err);
}

static ts_status rewind_target(void *ctx, int64_t pos, ts_error *err)
{
    const side *t = &((ts_rounds *)ctx)->target;
    return t->ref->state_rewind(t->model, t->state, pos, err);
}

static ts_status mtp(void *ctx, const int32_t *ids, const void *hidden, int64_t T, void *logits, void *out,
                     ts_error *err)
{
    const side *d = &((ts_rounds *)ctx)->drafter;
    return d->ref->mtp(d->model, d->state, ids, hidden, T, logits, out, err);
}

static ts_status rewind_drafter(void *ctx, int64_t pos, ts_error *err)
{
    const side *d = &((ts_rounds *)ctx)->drafter;
    return d->ref->state_rewind(d->model, d->state, pos, err);
}

static ts_status context(void *ctx, const void *taps, int64_t T, ts_error *err)
{
    const side *d = &((ts_rounds *)ctx)->drafter;
    return d->ref->dflash_context(d->model, d->state, taps, T, err);
}

static ts_status block(void *ctx, int32_t anchor, int64_t k, void *logits, void *g, ts_error *err)
{
    const side *d = &((ts_rounds *)ctx)->drafter;
    return d->ref->dflash_block(d->model, d->state, anchor, k, logits, g, err);
}

static ts_status candidates(void *ctx, const void *logits, int32_t *cand, void *U, ts_error *err)
{
    const side *d = &((ts_rounds *)ctx)->drafter;
    return d->ref->dflash_candidates(d->model, logits, cand, U, err);
}

static ts_status scores(void *ctx, int32_t prev, const int32_t *cand, const void *U, const void *g, void *s,
                        ts_error *err)
{
    const side *d = &((ts_rounds *)ctx)->drafter;
    return d->ref->dflash_scores(d->model, prev, cand, U, g, s, err);
}

static ts_status fast_forward(void *ctx, const int32_t *ids, int64_t T, int64_t rows, void *logits,
                              const ts_taps *taps, ts_error *err)
{
    return ts_engine_forward_taps(((ts_rounds *)ctx)->target.engine, ids, T, rows, logits, taps, err);
}

static ts_status fast_keep(void *ctx, int64_t rows, ts_error *err)
{
    return ts_engine_keep(((ts_rounds *)ctx)->target.engine, rows, err);
}

static ts_status fast_rewind_target(void *ctx, int64_t pos, ts_error *err)
{
    return ts_engine_rewind(((ts_rounds *)ctx)->target.engine, pos, err);
}

static ts_status fast_mtp(void *ctx, const int32_t *ids, const void *hidden, int64_t T, void *logits, void *out,
                          ts_error *err)
{
    return ts_engine_mtp(((ts_rounds *)ctx)->drafter.engine, ids, hidden, T, logits, out, err);
}

static ts_status fast_rewind_drafter(void *ctx, int64_t pos, ts_error *err)
{
    return ts_engine_rewind(((ts_rounds *)ctx)->drafter.engine, pos, err);
}

static ts_status fast_context(void *ctx, const void *taps, int64_t T, ts_error *err)
{
    return ts_engine_dflash_context(((ts_rounds *)ctx)->drafter.engine, taps, T, err);
}

static ts_status fast_block(void *ctx, int32_t anchor, int64_t k, void *logits, void *g, ts_error *err)
{
    return ts_engine_dflash_block(((ts_rounds *)ctx)->drafter.engine, anchor, k, logits, g, err);
}

static ts_status fast_candidates(void *ctx, const void *logits, int32_t *cand, void *U, ts_error *err)
{
    return ts_engine_dflash_candidates(((ts_rounds *)ctx)->drafter.engine, logits, cand, U, err);
}

static ts_status fast_scores(void *ctx, int32_t prev, const int32_t *cand, const void *U, const void *g, void *s,
                             ts_error *err)
{
    return ts_engine_dflash_scores(((ts_rounds *)ctx)->drafter.engine, prev, cand, U, g, s, err);
}

static ts_status open_side(side *s, const ts_ref *ref, const ts_weights *w, const ts_runner_options *o,
                           ts_error *err)
{
    s->ref = ref;
    ts_status status = ref->model_new(w, o->profile, &s->model, err);
    return status ? status : ref->state_new(s->model, o->capacity, &s->state, err);
}

static void close_side(side *s)
{
    ts_engine_free(s->engine);
    if (s->state)
        s->ref->state_free(s->state);
    if (s->model)
        s->ref->model_free(s->model);
}

static ts_status open_ref(ts_rounds *r, const ts_weights *target, const ts_weights *drafter,
                          const ts_runner_options *o, ts_error *err)
{
    const ts_ref *ref = strcmp(o->engine, "ref64") == 0 ? &ts_ref64 : &ts_ref32;
    r->engine = (ts_round_engine){.ctx = r,
                                  .dtype = ref->dtype,
                                  .forward = forward,
                                  .keep = keep,
                                  .rewind = rewind_target,
                                  .mtp = mtp,
                                  .mtp_rewind = rewind_drafter,
                                  .context = context,
                                  .block = block,
                                  .candidates = candidates,
                                  .scores = scores};
    ts_status status = open_side(&r->target, ref, target, o, err);
    return status ? status : open_side(&r->drafter, ref, drafter, o, err);
}

static ts_status open_fast(ts_rounds *r, const ts_weights *target, const ts_weights *drafter,
                           const ts_runner_options *o, ts_error *err)
{
    const ts_engine_options e = {
        .threads = o->threads, .capacity = o->capacity, .page_seed = o->page_seed, .poison = o->poison};
    r->engine = (ts_round_engine){.ctx = r,
                                  .dtype = TS_F32,
                                  .forward = fast_forward,
                                  .keep = fast_keep,
                                  .rewind = fast_rewind_target,
                                  .mtp = fast_mtp,
                                  .mtp_rewind = fast_rewind_drafter,
                                  .context = fast_context,
                                  .block = fast_block,
                                  .candidates = fast_candidates,
                                  .scores = fast_scores};
    if (o->threads < 1)
        return ts_fail(err, TS_USAGE, NULL, "--threads", "%d is less than 1", o->threads);
    ts_status status = ts_engine_new(target, o->profile, &e, &r->target.engine, err);
    return status ? status : ts_engine_new_drafter(drafter, r->target.engine, &r->drafter.engine, err);
}

ts_status ts_rounds_open(const ts_weights *target, const ts_weights *drafter, const ts_runner_options *o,
                         ts_rounds **out, ts_error *err)
{
    ts_status status = ts_runner_check_engine(o->engine, err);
    if (status)
        return status;
    ts_rounds *r = calloc(1, sizeof *r);
    if (!r)
        return ts_no_memory(err, sizeof *r);
    status = strcmp(o->engine, "fast") == 0 ? open_fast(r, target, drafter, o, err)
                                            : open_ref(r, target, drafter, o, err);
    if (status)
        ts_rounds_close(r);
    else
        *out = r;
    return status;
}

void ts_rounds_close(ts_rounds *r)
{
    if (!r)
        return;
    close_side(&r->drafter);
    close_side(&r->target);
    free(r);
}

const ts_round_engine *ts_rounds_engine(const ts_rounds *r)
{
    return &r->engine;
}

void ts_rounds_state_trace(const ts_rounds *r, const char *suffix, ts_trace *out)
{
    const side *const sides[] = {&r->target, &r->drafter};
    for (int i = 0; i < 2; i++)
        if (sides[i]->engine)
            ts_engine_state_trace(sides[i]->engine, suffix, out);
        else
            sides[i]->ref->state_trace(sides[i]->model, sides[i]->state, suffix, out);
}
