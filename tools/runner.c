#include "runner.h"

#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "ref.h"

/* Either ref and its model and state, or engine. */
struct ts_runner {
    int64_t V, capacity;
    const ts_ref *ref;
    ts_ref_model *model;
    ts_ref_state *state;
    ts_engine *engine;
    double *row; /* ref64: one row of logits for the stepper */
};

static ts_status open_ref(ts_runner *r, const ts_weights *w, const ts_runner_options *o, ts_error *err)
{
    r->ref = strcmp(o->engine, "ref64") == 0 ? &ts_ref64 : &ts_ref32;
    r->row = malloc((size_t)r->V * sizeof *r->row);
    if (!r->row)
        return ts_no_memory(err, (size_t)r->V * sizeof *r->row);
    ts_status status = r->ref->model_new(w, o->profile, &r->model, err);
    return status ? status : r->ref->state_new(r->model, o->capacity, &r->state, err);
}

static ts_status open_fast(ts_runner *r, const ts_weights *w, const ts_runner_options *o, ts_error *err)
{
    ts_engine_options e = {
        .threads = o->threads,
        .capacity = o->capacity,
        .page_seed = o->page_seed,
        .poison = o->poison,
    };
    if (o->threads < 1)
        return ts_fail(err, TS_USAGE, NULL, "--threads", "%d is less than 1", o->threads);
    return ts_engine_new(w, o->profile, &e, &r->engine, err);
}

ts_status ts_runner_check_engine(const char *engine, ts_error *err)
{
    if (strcmp(engine, "fast") == 0 || strcmp(engine, "ref32") == 0 || strcmp(engine, "ref64") == 0)
        return TS_OK;
    return ts_fail(err, TS_USAGE, NULL, "--engine", "'%s' is none of fast, ref32, ref64", engine);
}

ts_status ts_runner_open(const ts_weights *w, const ts_runner_options *o, ts_runner **out, ts_error *err)
{
    ts_status status = ts_runner_check_engine(o->engine, err);
    if (status)
        return status;
    ts_runner *r = calloc(1, sizeof *r);
    if (!r)
        return ts_no_memory(err, sizeof *r);
    r->V = w->cfg.V;
    r->capacity = o->capacity;
    status = strcmp(o->engine, "fast") == 0 ? open_fast(r, w, o, err) : open_ref(r, w, o, err);
    if (status) {
        ts_runner_close(r);
        return status;
    }
    *out = r;
    return TS_OK;
}

void ts_runner_close(ts_runner *r)
{
    if (!r)
        return;
    if (r->ref && r->state)
        r->ref->state_free(r->state);
    if (r->ref && r->model)
        r->ref->model_free(r->model);
    if (r->engine)
        ts_engine_free(r->engine);
    free(r->row);
    free(r);
}

ts_status ts_runner_reset(ts_runner *r, ts_error *err)
{
    if (r->engine) {
        ts_engine_reset(r->engine);
        return TS_OK;
    }
    ts_ref_state *fresh;
    ts_status status = r->ref->state_new(r->model, r->capacity, &fresh, err);
    if (status)
        return status;
    r->ref->state_free(r->state);
    r->state = fresh;
    return TS_OK;
}

ts_dtype ts_runner_dtype(const ts_runner *r)
{
    return r->ref ? r->ref->dtype : TS_F32;
}

ts_status ts_runner_forward(ts_runner *r, const int32_t *ids, int64_t T, int64_t rows, void *logits,
                            ts_trace *trace, ts_error *err)
{
    if (r->engine)
        return ts_engine_forward(r->engine, ids, T, rows, logits, trace, err);
    return r->ref->forward(r->model, r->state, ids, T, rows, logits, trace, err);
}

ts_status ts_runner_layer(ts_runner *r, int64_t layer, const void *x, int64_t T, ts_trace *trace, ts_error *err)
{
    if (r->engine)
        return ts_engine_forward_layer(r->engine, layer, x, T, trace, err);
    return r->ref->layer(r->model, r->state, layer, x, T, trace, err);
}

ts_status ts_runner_state_put(ts_runner *r, int64_t layer, int64_t pos, const void *conv_or_k,
                              const void *recurrent_or_v, ts_error *err)
{
    if (r->engine)
        return ts_engine_state_put(r->engine, layer, pos, conv_or_k, recurrent_or_v, err);
    return r->ref->state_put(r->model, r->state, layer, pos, conv_or_k, recurrent_or_v, err);
}

void ts_runner_state_trace(const ts_runner *r, const char *suffix, ts_trace *out)
{
    if (r->engine)
        ts_engine_state_trace(r->engine, suffix, out);
    else
        r->ref->state_trace(r->model, r->state, suffix, out);
}

static ts_status step(void *ctx, const int32_t *ids, int64_t T, float *logits, ts_error *err)
{
    ts_runner *r = ctx;
    if (ts_runner_dtype(r) == TS_F32)
        return ts_runner_forward(r, ids, T, 1, logits, NULL, err);
    ts_status status = ts_runner_forward(r, ids, T, 1, r->row, NULL, err);
    for (int64_t i = 0; !status && i < r->V; i++)
        logits[i] = (float)r->row[i];
    return status;
}

ts_stepper ts_runner_stepper(ts_runner *r)
{
    return (ts_stepper){.ctx = r, .V = r->V, .forward = step};
}
