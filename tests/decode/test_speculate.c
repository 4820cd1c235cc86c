/* Rounds whose outcome is forced: whatever was accepted, target and drafter know afterwards what they would know of
 * a plain run of the tokens kept; and a round's tokens are plain decoding's. */
#include "speculation.h"

#include <math.h>

enum { N = 96, WINDOW = 64, PROMPT = 11 };

static const char *const engines[] = {"ref32", "fast"};
typedef struct {
    models m;
    int32_t ids[N]; /* an id, and what the model says to all before it */
} fixture;

/* An engine whose drafts are put into its mouth. */
typedef struct {
    const ts_round_engine *inner;
    int32_t draft[TS_MAX_DRAFT]; /* what it shall propose */
    int next;
    int64_t V;
} puppet;

static ts_status forward(void *ctx, const int32_t *ids, int64_t T, int64_t rows, void *logits, const ts_taps *taps,
                         ts_error *err)
{
    const ts_round_engine *e = ((puppet *)ctx)->inner;
    return e->forward(e->ctx, ids, T, rows, logits, taps, err);
}

static ts_status keep(void *ctx, int64_t rows, ts_error *err)
{
    const ts_round_engine *e = ((puppet *)ctx)->inner;
    return e->keep(e->ctx, rows, err);
}

static ts_status rewind_target(void *ctx, int64_t pos, ts_error *err)
{
    const ts_round_engine *e = ((puppet *)ctx)->inner;
    return e->rewind(e->ctx, pos, err);
}

static ts_status mtp(void *ctx, const int32_t *ids, const void *hidden, int64_t T, void *logits, void *out,
                     ts_error *err)
{
    puppet *p = ctx;
    ts_status status = p->inner->mtp(p->inner->ctx, ids, hidden, T, logits, out, err);
    if (logits)
        ((float *)logits)[p->draft[p->next++]] = 1e30f;
    return status;
}

static ts_status mtp_rewind(void *ctx, int64_t pos, ts_error *err)
{
    const ts_round_engine *e = ((puppet *)ctx)->inner;
    return e->mtp_rewind(e->ctx, pos, err);
}

static ts_status context(void *ctx, const void *taps, int64_t T, ts_error *err)
{
    const ts_round_engine *e = ((puppet *)ctx)->inner;
    return e->context(e->ctx, taps, T, err);
}

static ts_status block(void *ctx, int32_t anchor, int64_t k, void *logits, void *g, ts_error *err)
{
    puppet *p = ctx;
    ts_status status = p->inner->block(p->inner->ctx, anchor, k, logits, g, err);
    for (int64_t i = 0; i < k; i++)
        ((float *)logits)[i * p->V + p->draft[i]] = 1e30f;
    return status;
}

static ts_status candidates(void *ctx, const void *logits, int32_t *cand, void *U, ts_error *err)
{
    const ts_round_engine *e = ((puppet *)ctx)->inner;
    return e->candidates(e->ctx, logits, cand, U, err);
}

static ts_status scores(void *ctx, int32_t prev, const int32_t *cand, const void *U, const void *g, void *s,
                        ts_error *err)
{
    const ts_round_engine *e = ((puppet *)ctx)->inner;
    return e->scores(e->ctx, prev, cand, U, g, s, err);
}

static ts_round_engine strings(puppet *p)
{
    return (ts_round_engine){.ctx = p,
                             .dtype = TS_F32,
                             .forward = forward,
                             .keep = keep,
                             .rewind = rewind_target,
                             .mtp = mtp,
                             .mtp_rewind = mtp_rewind,
                             .context = context,
                             .block = block,
                             .candidates = candidates,
                             .scores = scores};
}

/* One speculation over the fixture's ids, held by its strings. */
typedef struct {
    const fixture *f;
    const ts_weights *drafter;
    ts_rounds *rounds;
    puppet puppet;
    ts_round_engine engine;
    ts_config target;
    ts_speculation how;
    ts_speculator *s;
} play;

static void begin(play *p, const fixture *f, const ts_weights *drafter, const char *engine, int k, int64_t max_new)
{
    *p = (play){.f = f, .drafter = drafter, .rounds = open_rounds(&f->m, drafter, engine, 2 * N, k)};
    p->puppet = (puppet){.inner = ts_rounds_engine(p->rounds), .V = f->m.target->cfg.V};
    p->engine = strings(&p->puppet);
    p->target = f->m.target->cfg;
    p->target.n_stop = 0;
    p->how = (ts_speculation){.engine = &p->engine,
                              .target = &p->target,
                              .drafter = &drafter->cfg,
                              .verifier = TS_VERIFY_GREEDY,
                              .k = k,
                              .capacity = 2 * N,
                              .piece = 5, /* so that rows of MTP wait for the tokens of the next piece */
                              .sampling = ts_sampling_default(),
                              .max_new = max_new};
    ts_error err = {0};
    must(ts_speculator_new(&p->how, &p->s, &err), &err);
}

static void end(play *p)
{
    ts_speculator_free(p->s);
    ts_rounds_close(p->rounds);
}

/* A round after n tokens of which the last is the anchor: a true proposals, then wrong ones. */
static ts_round round_of(play *p, size_t n, int k, int a)
{
    ts_round r;
    ts_error err = {0};
    p->puppet.next = 0;
    for (int i = 0; i < k; i++) {
        const int32_t truth = p->f->ids[n + (size_t)i];
        p->puppet.draft[i] = i < a ? truth : (int32_t)((truth + 1) % p->puppet.V);
    }
    must(ts_speculator_round(p->s, k, &r, &err), &err);
    return r;
}

/* What both sides know after 1, 2, .. N - 1 tokens, or rows of MTP, one by one. */
typedef struct {
    ts_trace *state[N];
} steps;

static steps step_through(const fixture *f, const ts_weights *drafter, const char *engine)
{
    steps s = {0};
    ts_rounds *r = open_rounds(&f->m, drafter, engine, 2 * N, 1);
    const ts_round_engine *e = ts_rounds_engine(r);
    const ts_config *c = &drafter->cfg;
    float *stream = malloc((size_t)(c->dflash.taps * c->C + 1) * sizeof *stream);
    float *hidden = malloc((size_t)c->C * sizeof *hidden);
    const ts_taps taps = {c->dflash.taps, c->dflash.tap, stream, hidden};
    ts_error err = {0};
    for (int64_t t = 0; t + 1 < N; t++) {
        must(e->forward(e->ctx, f->ids + t, 1, 0, NULL, &taps, &err), &err);
        if (c->draft == TS_DRAFT_DFLASH)
            must(e->context(e->ctx, stream, 1, &err), &err);
        else
            must(e->mtp(e->ctx, f->ids + t + 1, hidden, 1, NULL, NULL, &err), &err);
        s.state[t + 1] = state_of(r);
    }
    free(stream);
    free(hidden);
    ts_rounds_close(r);
    return s;
}

static void free_steps(steps *s)
{
    for (int n = 0; n < N; n++)
        ts_trace_free(s->state[n]);
}

static void compare_state(const play *p, const steps *plain, int64_t n)
{
    ts_trace *now = state_of(p->rounds);
    const int64_t rows = ts_trace_find(now, "draft.0.k")->dim[1]; /* those of MTP may wait */
    const bool mtp = p->drafter->cfg.draft == TS_DRAFT_MTP;
    assert_same_state(now, plain->state[n], "cache.");
    assert_same_state(now, plain->state[mtp ? rows : n], "draft.");
    assert_true(!mtp || rows >= n - p->how.k - 1);
    ts_trace_free(now);
}

/* Prefill of n, then rounds of the acceptances a[]; -1: one of no proposals. */
static void play_rounds(const fixture *f, const ts_weights *drafter, const char *engine, const steps *plain,
                        size_t n, int k, const int *a, size_t rounds)
{
    play p;
    ts_error err = {0};
    begin(&p, f, drafter, engine, k, N);
    must(ts_speculator_prefill(p.s, f->ids, n, &err), &err);
    for (size_t i = 0; i < rounds; i++) {
        const ts_round r = round_of(&p, n + 1, a[i] < 0 ? 0 : k, a[i]);
        const int kept = a[i] < 0 ? 0 : a[i];
        assert_int_equal(r.n, n);
        assert_int_equal(r.a, kept);
        assert_int_equal(r.n_emitted, kept + 1);
        assert_int_equal(r.anchor, f->ids[n]);
        n += (size_t)kept + 1;
        assert_int_equal(r.final, f->ids[n]);
        compare_state(&p, plain, (int64_t)n);
    }
    end(&p);
}

static void every_acceptance(const fixture *f, const ts_weights *drafter, const char *engine, int k)
{
    steps plain = step_through(f, drafter, engine);
    for (int a = 0; a <= k; a++)
        play_rounds(f, drafter, engine, &plain, PROMPT, k, (int[]){a, -1, k - a}, 3);
    for (size_t n = 1; n <= (size_t)k + 3; n++)
        play_rounds(f, drafter, engine, &plain, n, k, (int[]){k, 0}, 2);
    if (drafter->cfg.draft == TS_DRAFT_DFLASH)
        for (size_t n = WINDOW - 1; n <= WINDOW + 1; n++)
            play_rounds(f, drafter, engine, &plain, n, k, (int[]){3, k, 0}, 3);
    free_steps(&plain);
}

static void states_are_those_of_plain_decoding(void **state)
{
    const fixture *f = *state;
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        every_acceptance(f, f->m.mtp, engines[i], 3);
        every_acceptance(f, f->m.dflash, engines[i], 7);
    }
}

static void stop_ids_and_budgets_cut_a_round(void **state)
{
    const fixture *f = *state;
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        steps plain = step_through(f, f->m.mtp, engines[i]);
        for (int cut = 1; cut <= 4; cut++)
            for (int by_stop = 0; by_stop < 2; by_stop++) {
                play p;
                ts_error err = {0};
                begin(&p, f, f->m.mtp, engines[i], 3, by_stop ? N : 1 + cut);
                must(ts_speculator_prefill(p.s, f->ids, PROMPT, &err), &err);
                p.target.n_stop = by_stop;
                p.target.stop[0] = f->ids[PROMPT + (size_t)cut];
                const ts_round r = round_of(&p, PROMPT + 1, 3, 3);
                assert_int_equal(r.a, 3); /* the record keeps what was accepted */
                assert_int_equal(r.n_emitted, cut);
                assert_true(ts_speculator_done(p.s));
                compare_state(&p, &plain, PROMPT + cut);
                end(&p);
            }
        free_steps(&plain);
    }
}

static void rounds_shrink_before_the_capacity(void **state)
{
    const fixture *f = *state;
    play p;
    ts_error err = {0};
    begin(&p, f, f->m.mtp, "ref32", 3, N);
    p.how.capacity = PROMPT + 4; /* the anchor and three */
    must(ts_speculator_prefill(p.s, f->ids, PROMPT, &err), &err);
    assert_int_equal(round_of(&p, PROMPT + 1, 3, 1).k, 3);
    assert_int_equal(round_of(&p, PROMPT + 3, 3, 0).k, 1);
    assert_int_equal(round_of(&p, PROMPT + 4, 3, 0).k, 0);
    assert_int_equal(ts_speculator_round(p.s, 3, NULL, &err), TS_BAD);
    end(&p);
}

static int count(void *user, int32_t id)
{
    (void)id;
    ++*(int *)user;
    return 0;
}

/* States of just that capacity are filled to their last row, by either drafter, and then it is over. */
static void rounds_fill_the_capacity(void **state)
{
    const fixture *f = *state;
    const ts_weights *const drafters[] = {f->m.mtp, f->m.dflash};
    ts_config target = f->m.target->cfg;
    target.n_stop = 0;
    for (int i = 0; i < 4; i++)
        for (int64_t capacity = PROMPT + 1; capacity <= PROMPT + 9; capacity += 4) {
            const ts_weights *drafter = drafters[i % 2];
            ts_rounds *r = open_as(&f->m, drafter, engines[i / 2], "ts", capacity);
            ts_generated out;
            ts_error err = {0};
            int emitted = 0;
            const ts_speculation how = {.engine = ts_rounds_engine(r),
                                        .target = &target,
                                        .drafter = &drafter->cfg,
                                        .verifier = TS_VERIFY_GREEDY,
                                        .k = 5,
                                        .capacity = capacity,
                                        .sampling = ts_sampling_default(),
                                        .max_new = N,
                                        .on_token = count,
                                        .user = &emitted};
            assert_int_equal(ts_speculate_ids(&how, f->ids, PROMPT, &out, &err), TS_BAD);
            assert_non_null(strstr(err.reason, "tokens are used up"));
            assert_int_equal(emitted, capacity + 1 - PROMPT); /* the last is emitted, not run */
            ts_rounds_close(r);
        }
}

/* torch's delta rule has a form of its own for more than one token: a prompt no longer than a round takes it, too.
 */
static void a_short_prompt_is_run_as_plain_generation_does(void **state)
{
    const fixture *f = *state;
    enum { K = 3 };
    for (int64_t n = 1; n <= K + 2; n++) {
        ts_error err = {0};
        ts_speculator *s = NULL;
        ts_rounds *plain = open_as(&f->m, f->m.mtp, "ref32", "hf", N),
                  *r = open_as(&f->m, f->m.mtp, "ref32", "hf", N);
        const ts_round_engine *e = ts_rounds_engine(plain);
        const ts_speculation how = {.engine = ts_rounds_engine(r),
                                    .target = &f->m.target->cfg,
                                    .drafter = &f->m.mtp->cfg,
                                    .verifier = TS_VERIFY_GREEDY,
                                    .k = K,
                                    .capacity = N,
                                    .sampling = ts_sampling_default(),
                                    .max_new = 1};
        must(e->forward(e->ctx, f->ids, n, 0, NULL, &(ts_taps){0}, &err), &err);
        must(ts_speculator_new(&how, &s, &err), &err);
        must(ts_speculator_prefill(s, f->ids, (size_t)n, &err), &err);
        ts_trace *a = state_of(r), *b = state_of(plain);
        assert_same_state(a, b, "cache.");
        ts_trace_free(a);
        ts_trace_free(b);
        ts_speculator_free(s);
        ts_rounds_close(r);
        ts_rounds_close(plain);
    }
}

typedef struct {
    int32_t id[8];
    size_t n;
} heard;

static int hear(void *user, int32_t id)
{
    heard *h = user;
    h->id[h->n++] = id;
    return 0;
}

/* The first token is the record's too, also for those who listen. */
static void the_leader_has_the_first_word(void **state)
{
    const fixture *f = *state;
    play p;
    heard h = {.n = 0};
    ts_error err = {0};
    ts_generated out = {0};
    const ts_round along = {
        .n = PROMPT, .anchor = 7, .k = 1, .draft = {9}, .a = 1, .final = 11, .n_emitted = 2, .emitted = {9, 11}};
    begin(&p, f, f->m.mtp, "fast", 3, 8);
    p.puppet.draft[0] = 5;
    p.how.on_token = hear;
    p.how.user = &h;
    must(ts_speculate_along(&p.how, f->ids, PROMPT, &along, 1, &out, &err), &err);
    assert_int_equal(out.n, 3);
    assert_int_equal(h.n, 3);
    assert_memory_equal(out.ids, ((int32_t[]){7, 9, 11}), 3 * sizeof *out.ids);
    assert_memory_equal(out.ids, h.id, 3 * sizeof *out.ids);
    free(out.ids);
    end(&p);
}

static void bad_requests_are_refused(void **state)
{
    const fixture *f = *state;
    play p;
    ts_speculator *s = NULL;
    ts_error err = {0};
    begin(&p, f, f->m.dflash, "ref32", 7, N);
    assert_int_equal(ts_speculator_prefill(p.s, f->ids, 0, &err), TS_BAD);
    assert_int_equal(ts_speculator_prefill(p.s, (int32_t[]){-1}, 1, &err), TS_BAD);
    p.how.k = 8; /* a block of 8 holds the anchor */
    assert_int_equal(ts_speculator_new(&p.how, &s, &err), TS_USAGE);
    p.how.k = 0;
    assert_int_equal(ts_speculator_new(&p.how, &s, &err), TS_USAGE);
    p.how.k = 7;
    end(&p);
}

/* An engine in double of 4 ids, whose second row of a round is NaN. */
static ts_status forward_broken(void *ctx, const int32_t *ids, int64_t T, int64_t rows, void *logits,
                                const ts_taps *taps, ts_error *err)
{
    (void)ctx, (void)ids, (void)T, (void)taps, (void)err;
    for (int64_t i = 0; i < 4 * rows; i++)
        ((double *)logits)[i] = i == 5 ? (double)NAN : 0.0;
    return TS_OK;
}

static ts_status mtp_flat(void *ctx, const int32_t *ids, const void *hidden, int64_t T, void *logits, void *out,
                          ts_error *err)
{
    (void)ctx, (void)ids, (void)hidden, (void)T, (void)out, (void)err;
    for (int i = 0; logits && i < 4; i++)
        ((double *)logits)[i] = i;
    return TS_OK;
}

static ts_status stay(void *ctx, int64_t pos, ts_error *err)
{
    (void)ctx, (void)pos, (void)err;
    return TS_OK;
}

/* A row that has no law fails the round, and the laws of the rows before it are freed (which sanitizers see). */
static void a_row_without_a_law_fails_the_round(void **state)
{
    (void)state;
    const ts_round_engine e = {.dtype = TS_F64,
                               .forward = forward_broken,
                               .keep = stay,
                               .rewind = stay,
                               .mtp = mtp_flat,
                               .mtp_rewind = stay};
    const ts_config c = {.V = 4, .C = 1, .draft = TS_DRAFT_MTP};
    const ts_filter64 wide = {.temperature = 1, .top_p = 1};
    const ts_speculation g = {.engine = &e,
                              .target = &c,
                              .drafter = &c,
                              .verifier = TS_VERIFY_POINT,
                              .k = 2,
                              .capacity = 16,
                              .sampling = ts_sampling_default(),
                              .wide = &wide,
                              .max_new = 8};
    ts_generated out = {0};
    ts_error err = {0};
    assert_int_equal(ts_speculate_ids(&g, (int32_t[]){1, 2}, 2, &out, &err), TS_BAD);
    assert_non_null(strstr(err.reason, "nan at id 1"));
}

static int setup(void **state)
{
    static fixture f;
    ts_error err = {0};
    f.m = load_models(TINY);
    f.ids[0] = 414;
    ts_rounds *r = open_rounds(&f.m, f.m.mtp, "ref32", N, 1);
    const ts_round_engine *e = ts_rounds_engine(r);
    const ts_taps none = {0};
    float *logits = malloc((size_t)f.m.target->cfg.V * sizeof *logits);
    for (size_t t = 0; t + 1 < N; t++) {
        must(e->forward(e->ctx, f.ids + t, 1, 1, logits, &none, &err), &err);
        f.ids[t + 1] = 0;
        for (int32_t v = 1; v < f.m.target->cfg.V; v++)
            if (logits[v] > logits[f.ids[t + 1]])
                f.ids[t + 1] = v;
    }
    free(logits);
    ts_rounds_close(r);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    free_models(&((fixture *)*state)->m);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_are_those_of_plain_decoding),
        cmocka_unit_test(stop_ids_and_budgets_cut_a_round),
        cmocka_unit_test(rounds_shrink_before_the_capacity),
        cmocka_unit_test(rounds_fill_the_capacity),
        cmocka_unit_test(a_short_prompt_is_run_as_plain_generation_does),
        cmocka_unit_test(the_leader_has_the_first_word),
        cmocka_unit_test(bad_requests_are_refused),
        cmocka_unit_test(a_row_without_a_law_fails_the_round),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
