#include "speculate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "draw.h"
#include "drafter.h"

struct ts_speculator {
    const ts_speculation *g;
    ts_drafter drafter;
    ts_uniforms uniforms;
    int32_t *ids; /* prompt, output, then room for a round's drafts */
    size_t n, n_prompt;
    bool stopped, halted; /* by a stop id, by the caller */
    void *logits;         /* [k+1][V], or a prompt's last row */
    float *narrow;        /* the same for the sampler, where the engine's are wider */
    ts_taps taps;
    int64_t rows; /* that taps has room for */
};

static ts_status check(const ts_speculation *g, ts_error *err)
{
    const int64_t most = g->drafter->draft == TS_DRAFT_DFLASH ? g->drafter->dflash.block - 1 : TS_MAX_DRAFT;
    if (g->k < 1 || g->k > most)
        return ts_fail(err, TS_USAGE, NULL, "k", "%d proposals, this drafter makes 1..%lld", g->k, (long long)most);
    if (g->max_new < 0 || g->piece < 0)
        return ts_fail(err, TS_BAD, NULL, "max_new, piece", "must not be negative");
    return ts_sampling_check(&g->sampling, err);
}

ts_status ts_speculator_new(const ts_speculation *g, ts_speculator **out, ts_error *err)
{
    ts_status status = check(g, err);
    if (status)
        return status;
    ts_speculator *s = calloc(1, sizeof *s);
    if (!s)
        return ts_no_memory(err, sizeof *s);
    s->g = g;
    s->uniforms = ts_uniforms_philox(&g->sampling.seed);
    s->taps = (ts_taps){.n = g->drafter->dflash.taps, .layer = g->drafter->dflash.tap};
    *out = s;
    return TS_OK;
}

void ts_speculator_free(ts_speculator *s)
{
    if (!s)
        return;
    ts_drafter_free(&s->drafter);
    free(s->ids);
    free(s->logits);
    free(s->narrow);
    free(s->taps.stream);
    free(s->taps.hidden);
    free(s);
}

static size_t element(const ts_speculator *s)
{
    return s->g->engine->dtype == TS_F64 ? sizeof(double) : sizeof(float);
}

/* Buffers for a prompt of n tokens. */
static ts_status reserve(ts_speculator *s, size_t n, ts_error *err)
{
    const ts_speculation *g = s->g;
    const int64_t C = g->target->C, B = g->k + 1, piece = g->piece > 0 ? g->piece : (int64_t)n;
    const int64_t rows = piece > B ? piece : B, V = g->target->V;
    const bool mtp = g->drafter->draft == TS_DRAFT_MTP;
    s->ids = malloc((n + (size_t)g->max_new + (size_t)B) * sizeof *s->ids);
    s->logits = malloc((size_t)(B * V) * element(s));
    s->narrow = malloc((size_t)(B * V) * sizeof *s->narrow);
    s->taps.stream = mtp ? NULL : malloc((size_t)(rows * s->taps.n * C) * element(s));
    s->taps.hidden = mtp ? malloc((size_t)(rows * C) * element(s)) : NULL;
    if (!s->ids || !s->logits || !s->narrow || (mtp ? !s->taps.hidden : !s->taps.stream))
        return ts_no_memory(err, (unsigned long)(B * V) * element(s));
    return ts_drafter_new(g, rows, s->uniforms, &s->drafter, err);
}

/* The first k + 1 rows of logits as f32. */
static const float *narrow(ts_speculator *s, int k)
{
    if (s->g->engine->dtype == TS_F32)
        return s->logits;
    for (int64_t i = 0; i < (k + 1) * s->g->target->V; i++)
        s->narrow[i] = (float)((const double *)s->logits)[i];
    return s->narrow;
}

/* The target's laws of k + 1 rows; on error there are none. */
static ts_status laws(ts_speculator *s, const int32_t *draft, int k, ts_distribution *p, ts_error *err)
{
    const ts_speculation *g = s->g;
    ts_status status = TS_OK;
    if (!g->wide)
        return ts_verify_rows(&g->sampling, narrow(s, k), g->target->V, s->ids, s->n, draft, k, p, err);
    memset(p, 0, ((size_t)k + 1) * sizeof *p);
    for (int j = 0; j <= k && !status; j++)
        status = ts_distribution_of64(g->wide, (const double *)s->logits + j * g->target->V, g->target->V, &p[j],
                                      err);
    for (int j = 0; j <= k && status; j++)
        ts_distribution_free(&p[j]);
    return status;
}

static bool greedy(const ts_speculation *g)
{
    return g->verifier == TS_VERIFY_GREEDY || (g->wide ? g->wide->temperature <= 0 : g->sampling.temperature <= 0);
}

static void emit(ts_speculator *s, int32_t id)
{
    s->ids[s->n++] = id;
    s->stopped = ts_config_is_stop(s->g->target, id);
    if (s->g->on_token && s->g->on_token(s->g->user, id) != 0)
        s->halted = true;
}

/* The token after the prompt, drawn as plain generation draws it. */
static ts_status first(ts_speculator *s, ts_error *err)
{
    ts_distribution p = {0};
    double u = 0;
    ts_status status = laws(s, NULL, 0, &p, err);
    if (!status && !greedy(s->g))
        status = s->uniforms.draw(s->uniforms.ctx, s->n, TS_DRAW_SAMPLE, &u, err);
    if (!status)
        emit(s, greedy(s->g) ? p.id[0] : ts_draw(&p, u).id);
    ts_distribution_free(&p);
    return status;
}

static ts_status check_prompt(const ts_speculation *g, const int32_t *prompt, size_t n, ts_error *err)
{
    if (n == 0)
        return ts_fail(err, TS_BAD, NULL, "prompt", "is empty");
    for (size_t i = 0; i < n; i++)
        if (prompt[i] < 0 || prompt[i] >= g->target->V)
            return ts_fail(err, TS_BAD, NULL, "prompt", "id %d at %zu is outside 0..%lld", (int)prompt[i], i,
                           (long long)g->target->V - 1);
    return TS_OK;
}

/* led: the first token in place of this engine's own, or NULL */
static ts_status prefill(ts_speculator *s, const int32_t *prompt, size_t n, const int32_t *led, ts_error *err)
{
    const ts_speculation *g = s->g;
    const ts_round_engine *e = g->engine;
    const int64_t piece = g->piece > 0 ? g->piece : (int64_t)n;
    ts_status status = check_prompt(g, prompt, n, err);
    if (!status)
        status = reserve(s, n, err);
    if (status)
        return status;
    memcpy(s->ids, prompt, n * sizeof *prompt);
    s->n = s->n_prompt = n;
    for (int64_t t = 0; t < (int64_t)n && !status; t += piece) {
        const int64_t T = (int64_t)n - t < piece ? (int64_t)n - t : piece;
        status = e->forward(e->ctx, s->ids + t, T, 1, s->logits, &s->taps, err);
        if (!status)
            status = ts_drafter_absorb(&s->drafter, s->ids, s->n, T, &s->taps, err);
    }
    if (!status)
        status = e->keep(e->ctx, g->k + 1, err);
    if (status || g->max_new == 0)
        return status;
    if (!led)
        return first(s, err);
    emit(s, *led);
    return TS_OK;
}

ts_status ts_speculator_prefill(ts_speculator *s, const int32_t *prompt, size_t n, ts_error *err)
{
    return prefill(s, prompt, n, NULL, err);
}

bool ts_speculator_done(const ts_speculator *s)
{
    return s->stopped || s->halted || s->n - s->n_prompt >= (size_t)s->g->max_new;
}

/* What goes out of d_1..d_a, final: all, or up to a stop id or the budget. */
static void emit_round(ts_speculator *s, ts_round *r)
{
    const int all = r->n_emitted;
    r->n_emitted = 0;
    while (r->n_emitted < all && !ts_speculator_done(s))
        emit(s, r->emitted[r->n_emitted++]);
}

/* The record's part that the drafter knows. */
static void add_proposal(const ts_proposal *d, ts_round *r)
{
    r->slots = d->slots;
    r->has_score = d->slots > 0 && d->k > 0;
    r->has_top = d->has_top;
    memcpy(r->cand, d->cand, sizeof r->cand);
    memcpy(r->score, d->score, sizeof r->score);
    memcpy(r->top, d->top, sizeof r->top);
}

/* Runs the anchor and the drafts, and judges them. */
static ts_status verify(ts_speculator *s, const ts_proposal *d, ts_round *r, ts_error *err)
{
    const ts_speculation *g = s->g;
    ts_distribution p[TS_MAX_DRAFT + 1];
    ts_round_verdict verdict;
    memcpy(s->ids + s->n, d->draft, (size_t)d->k * sizeof *d->draft);
    const ts_verify_input in = {
        .n = s->n - 1, .k = d->k, .draft = d->draft, .p = p, .q = d->q, .uniforms = &s->uniforms};
    ts_status status = g->engine->forward(g->engine->ctx, s->ids + s->n - 1, d->k + 1, d->k + 1, s->logits,
                                          &s->taps, err);
    if (!status)
        status = laws(s, d->draft, d->k, p, err);
    if (status)
        return status;
    status = ts_verify_round(greedy(g) ? TS_VERIFY_GREEDY : g->verifier, &in, &verdict, err);
    if (!status) {
        ts_round_of(&in, &verdict, s->ids[s->n - 1], r);
        add_proposal(d, r);
    }
    for (int j = 0; j <= d->k; j++)
        ts_distribution_free(&p[j]);
    return status;
}

/* Keeps the rows of what was emitted, but the last of it, which is the next anchor. */
static ts_status commit(ts_speculator *s, const ts_round *r, ts_error *err)
{
    const ts_round_engine *e = s->g->engine;
    ts_status status = e->rewind(e->ctx, r->n + r->n_emitted, err);
    return status ? status : ts_drafter_absorb(&s->drafter, s->ids, s->n, r->n_emitted, &s->taps, err);
}

/* Of the rows run only the anchor's stays; what another emitted is run instead. */
static ts_status commit_other(ts_speculator *s, const ts_round *r, ts_error *err)
{
    const ts_round_engine *e = s->g->engine;
    const int64_t rest = r->n_emitted - 1;
    ts_status status = e->rewind(e->ctx, r->n + 1, err);
    if (!status)
        status = ts_drafter_absorb(&s->drafter, s->ids, s->n, 1, &s->taps, err);
    if (status || rest == 0)
        return status;
    status = e->forward(e->ctx, s->ids + r->n + 1, rest, 1, s->logits, &s->taps, err);
    return status ? status : ts_drafter_absorb(&s->drafter, s->ids, s->n, rest, &s->taps, err);
}

static ts_status check_round(const ts_speculator *s, int k, ts_error *err)
{
    if (ts_speculator_done(s))
        return ts_fail(err, TS_BAD, NULL, "round", "the run is over");
    if ((int64_t)s->n > s->g->capacity)
        return ts_fail(err, TS_BAD, NULL, "capacity", "%lld tokens are used up", (long long)s->g->capacity);
    if (k < 0 || k > s->g->k)
        return ts_fail(err, TS_USAGE, NULL, "k", "%d proposals, this run has room for 0..%d", k, s->g->k);
    return TS_OK;
}

/* Drafts and verifies; nothing is emitted yet. */
static ts_status judge(ts_speculator *s, int k, ts_round *r, ts_error *err)
{
    const int64_t left = s->g->capacity - (int64_t)s->n; /* the anchor's row has its place */
    ts_proposal d;
    ts_status status = check_round(s, k, err);
    if (!status)
        status = ts_drafter_propose(&s->drafter, s->ids, (int64_t)s->n - 1, k < left ? k : (int)left, &d, err);
    if (status)
        return status;
    status = verify(s, &d, r, err);
    ts_proposal_free(&d);
    return status;
}

static ts_status hand_out(ts_speculator *s, ts_status status, const ts_round *r, ts_round *out)
{
    if (out)
        *out = *r;
    if (!status && s->g->on_round && s->g->on_round(s->g->user, r) != 0)
        s->halted = true;
    return status;
}

ts_status ts_speculator_round(ts_speculator *s, int k, ts_round *out, ts_error *err)
{
    ts_round r;
    ts_status status = judge(s, k, &r, err);
    if (status)
        return status;
    emit_round(s, &r);
    return hand_out(s, commit(s, &r, err), &r, out);
}

/* Can the stream go on with what this round emitted? */
static ts_status check_outcome(const ts_speculator *s, const ts_round *r, ts_error *err)
{
    const int64_t V = s->g->target->V;
    if (r->n != (int64_t)s->n - 1 || r->anchor != s->ids[s->n - 1])
        return ts_fail(err, TS_BAD, NULL, "round", "is of token %d at %lld, the stream is at token %d at %lld",
                       (int)r->anchor, (long long)r->n, (int)s->ids[s->n - 1], (long long)s->n - 1);
    if (r->n_emitted < 1)
        return ts_fail(err, TS_BAD, NULL, "round", "that at %lld emitted nothing", (long long)r->n);
    for (int i = 0; i < r->n_emitted; i++)
        if (r->emitted[i] < 0 || r->emitted[i] >= V)
            return ts_fail(err, TS_BAD, NULL, "round", "that at %lld emitted id %d, the vocabulary has 0..%lld",
                           (long long)r->n, (int)r->emitted[i], (long long)V - 1);
    return TS_OK;
}

ts_status ts_speculator_follow(ts_speculator *s, const ts_round *outcome, ts_round *out, ts_error *err)
{
    ts_round r, other = *outcome;
    ts_status status = check_outcome(s, outcome, err);
    if (!status)
        status = judge(s, outcome->k, &r, err);
    if (status)
        return status;
    emit_round(s, &other);
    return hand_out(s, commit_other(s, &other, err), &r, out);
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The rounds of a record. */
typedef struct {
    const ts_round *round;
    size_t n;
} guide;

/* Until the run is over, or those of `along`. */
static ts_status all_rounds(ts_speculator *s, const guide *along, ts_error *err)
{
    ts_status status = TS_OK;
    for (size_t i = 0; !status && !ts_speculator_done(s) && (!along || i < along->n); i++)
        status = along ? ts_speculator_follow(s, &along->round[i], NULL, err)
                       : ts_speculator_round(s, s->g->k, NULL, err);
    return status;
}

static ts_status run(ts_speculator *s, const int32_t *prompt, size_t n_prompt, const guide *along,
                     ts_generated *out, ts_error *err)
{
    const double start = seconds_now();
    ts_status status = prefill(s, prompt, n_prompt, along && along->n > 0 ? &along->round[0].anchor : NULL, err);
    const double filled = seconds_now();
    if (!status)
        status = all_rounds(s, along, err);
    if (status)
        return status;
    out->n = s->n - s->n_prompt;
    out->stopped = s->stopped;
    out->prefill_seconds = filled - start;
    out->decode_seconds = seconds_now() - filled;
    memmove(s->ids, s->ids + s->n_prompt, out->n * sizeof *s->ids);
    out->ids = s->ids;
    s->ids = NULL;
    return TS_OK;
}

static ts_status speculate(const ts_speculation *g, const int32_t *prompt, size_t n_prompt, const guide *along,
                           ts_generated *out, ts_error *err)
{
    ts_speculator *s = NULL;
    *out = (ts_generated){0};
    ts_status status = ts_speculator_new(g, &s, err);
    if (status)
        return status;
    status = run(s, prompt, n_prompt, along, out, err);
    ts_speculator_free(s);
    return status;
}

ts_status ts_speculate_along(const ts_speculation *g, const int32_t *prompt, size_t n_prompt, const ts_round *along,
                             size_t n_rounds, ts_generated *out, ts_error *err)
{
    return speculate(g, prompt, n_prompt, &(guide){along, n_rounds}, out, err);
}

ts_status ts_speculate_ids(const ts_speculation *g, const int32_t *prompt, size_t n_prompt, ts_generated *out,
                           ts_error *err)
{
    return speculate(g, prompt, n_prompt, NULL, out, err);
}
