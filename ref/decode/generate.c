#include "generate.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    int32_t *ids; /* prompt, then output */
    size_t n, n_prompt;
    float *logits;
} context;

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static ts_status check_request(const ts_generation *g, const int32_t *prompt, size_t n_prompt, ts_error *err)
{
    int64_t V = g->stepper->V;
    if (V < 1 || V > INT32_MAX)
        return ts_fail(err, TS_BAD, NULL, "logits", "vocabulary of %lld ids", (long long)V);
    if (n_prompt == 0)
        return ts_fail(err, TS_BAD, NULL, "prompt", "is empty");
    if (g->max_new < 0)
        return ts_fail(err, TS_BAD, NULL, "max_new", "must not be negative, got %lld", (long long)g->max_new);
    if (g->piece < 0)
        return ts_fail(err, TS_BAD, NULL, "piece", "must not be negative, got %lld", (long long)g->piece);
    if ((uint64_t)g->max_new > SIZE_MAX / sizeof(int32_t) - n_prompt)
        return ts_fail(err, TS_BAD, NULL, "max_new", "%lld is more than memory can hold", (long long)g->max_new);
    for (size_t i = 0; i < n_prompt; i++)
        if (prompt[i] < 0 || prompt[i] >= V)
            return ts_fail(err, TS_BAD, NULL, "prompt", "id %d at %zu is outside 0..%lld", (int)prompt[i], i,
                           (long long)V - 1);
    return ts_sampling_check(&g->sampling, err);
}

static ts_status prefill(const ts_generation *g, context *c, ts_error *err)
{
    size_t piece = g->piece == 0 || (uint64_t)g->piece > c->n_prompt ? c->n_prompt : (size_t)g->piece;
    for (size_t t = 0; t < c->n_prompt; t += piece) {
        size_t rows = c->n_prompt - t < piece ? c->n_prompt - t : piece;
        ts_status status = g->stepper->forward(g->stepper->ctx, c->ids + t, (int64_t)rows, c->logits, err);
        if (status != TS_OK)
            return status;
    }
    return TS_OK;
}

/* Emits the next id from the logits at hand; *last tells that no other follows. */
static ts_status emit(const ts_generation *g, context *c, bool *stopped, bool *last, ts_error *err)
{
    ts_sample how = {0};
    ts_status status = ts_sample_token(&g->sampling, c->logits, g->stepper->V, c->ids, c->n, c->n, &how, err);
    if (status != TS_OK)
        return status;
    c->ids[c->n++] = how.token;
    *stopped = ts_config_is_stop(g->cfg, how.token);
    *last = *stopped || c->n - c->n_prompt == (size_t)g->max_new;
    if (g->on_token && g->on_token(g->user, how.token, &how) != 0)
        *last = true;
    return TS_OK;
}

static ts_status decode(const ts_generation *g, context *c, bool *stopped, ts_error *err)
{
    bool last = g->max_new == 0;
    while (!last) {
        ts_status status = emit(g, c, stopped, &last, err);
        if (status == TS_OK && !last)
            status = g->stepper->forward(g->stepper->ctx, c->ids + c->n - 1, 1, c->logits, err);
        if (status != TS_OK)
            return status;
    }
    return TS_OK;
}

/* Leaves only the output in ids, and hands it over. */
static void hand_over(context *c, ts_generated *out)
{
    out->n = c->n - c->n_prompt;
    memmove(c->ids, c->ids + c->n_prompt, out->n * sizeof *c->ids);
    out->ids = c->ids;
    c->ids = NULL;
}

static ts_status run(const ts_generation *g, context *c, ts_generated *out, ts_error *err)
{
    double start = seconds_now();
    ts_status status = prefill(g, c, err);
    double filled = seconds_now();
    if (status == TS_OK)
        status = decode(g, c, &out->stopped, err);
    if (status != TS_OK)
        return status;
    out->prefill_seconds = filled - start;
    out->decode_seconds = seconds_now() - filled;
    hand_over(c, out);
    return TS_OK;
}

ts_status ts_generate_ids(const ts_generation *g, const int32_t *prompt, size_t n_prompt, ts_generated *out,
                          ts_error *err)
{
    *out = (ts_generated){0};
    ts_status status = check_request(g, prompt, n_prompt, err);
    if (status != TS_OK)
        return status;
    size_t room = (n_prompt + (size_t)g->max_new) * sizeof(int32_t), row = (size_t)g->stepper->V * sizeof(float);
    context c = {.ids = malloc(room), .n = n_prompt, .n_prompt = n_prompt, .logits = malloc(row)};
    if (c.ids && c.logits) {
        memcpy(c.ids, prompt, n_prompt * sizeof *prompt);
        status = run(g, &c, out, err);
    } else {
        status = ts_no_memory(err, (unsigned long)(room + row));
    }
    if (status != TS_OK)
        *out = (ts_generated){0};
    free(c.ids);
    free(c.logits);
    return status;
}
