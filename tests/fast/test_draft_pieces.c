/* More rows at once than the fast engine's pieces of 512, or a sliding drafter's ring of pages, hold; and a head
 * that is not shared. */
#include "decode/speculation.h"
#include "num/philox.h"

enum { ROWS = 512, LONG = 530, CAPACITY = 2048 };

static ts_rounds *open_wide(const models *m, const ts_weights *drafter, const char *engine)
{
    const ts_runner_options o = {.engine = engine,
                                 .profile = ts_profile_find("ts"),
                                 .capacity = CAPACITY,
                                 .threads = 2,
                                 .page_seed = 7,
                                 .poison = true};
    ts_rounds *r = NULL;
    ts_error err = {0};
    must(ts_rounds_open(m->target, drafter, &o, &r, &err), &err);
    return r;
}

/* What the drafter knows after these context rows, as many at a time. */
static ts_trace *context_of(const models *m, const char *engine, const float *taps, int64_t piece)
{
    const int64_t width = m->dflash->cfg.dflash.taps * m->dflash->cfg.C;
    ts_rounds *r = open_wide(m, m->dflash, engine);
    const ts_round_engine *e = ts_rounds_engine(r);
    ts_error err = {0};
    for (int64_t t = 0; t < ROWS; t += piece)
        must(e->context(e->ctx, taps + t * width, piece, &err), &err);
    ts_trace *state = state_of(r);
    ts_rounds_close(r);
    return state;
}

/* Rows a ring apart have one place, which is the later one's. */
static void the_last_row_of_a_place_stays(void **state)
{
    const models m = *(models *)*state;
    const int64_t n = ROWS * m.dflash->cfg.dflash.taps * m.dflash->cfg.C;
    float *taps = malloc((size_t)n * sizeof *taps);
    for (int64_t i = 0; i < n; i++)
        taps[i] = (float)ts_uniform(1, (uint64_t)i, 0) - 0.5f;
    ts_trace *want = context_of(&m, "ref32", taps, 1);
    const char *const engines[] = {"ref32", "fast"};
    for (int i = 0; i < 2; i++) {
        ts_trace *got = context_of(&m, engines[i], taps, ROWS);
        assert_same_state(got, want, "draft.");
        ts_trace_free(got);
    }
    ts_trace_free(want);
    free(taps);
}

/* What a prompt of two pieces leaves: streams and hidden states of all its rows, and the head's rows of them. */
typedef struct {
    float *stream, *hidden, *out, *logits;
    ts_trace *state;
} aftermath;

static aftermath run_prompt(const models *m, const char *engine)
{
    const ts_dflash_config *d = &m->dflash->cfg.dflash;
    const size_t C = (size_t)m->target->cfg.C, V = (size_t)m->target->cfg.V;
    aftermath y = {.stream = calloc(LONG * C * (size_t)d->taps, sizeof(float)),
                   .hidden = calloc(LONG * C, sizeof(float)),
                   .out = calloc(LONG * C, sizeof(float)),
                   .logits = calloc(V, sizeof(float))};
    const ts_taps taps = {d->taps, d->tap, y.stream, y.hidden};
    int32_t ids[LONG + 1];
    ts_error err = {0};
    for (int i = 0; i <= LONG; i++)
        ids[i] = (i * 7 + i * i) % 2000;
    ts_rounds *r = open_wide(m, m->mtp, engine);
    const ts_round_engine *e = ts_rounds_engine(r);
    must(e->forward(e->ctx, ids, LONG, 0, NULL, &taps, &err), &err);
    must(e->mtp(e->ctx, ids + 1, y.hidden, LONG, y.logits, y.out, &err), &err);
    y.state = state_of(r);
    ts_rounds_close(r);
    return y;
}

static void free_aftermath(aftermath *y)
{
    free(y->stream);
    free(y->hidden);
    free(y->out);
    free(y->logits);
    ts_trace_free(y->state);
}

static void a_prompt_of_two_pieces(void **state)
{
    const models *m = *state;
    const size_t row = (size_t)m->target->cfg.C * sizeof(float);
    aftermath a = run_prompt(m, "ref32"), b = run_prompt(m, "fast");
    assert_memory_equal(a.stream, b.stream, LONG * row * (size_t)m->dflash->cfg.dflash.taps);
    assert_memory_equal(a.hidden, b.hidden, LONG * row);
    assert_memory_equal(a.out, b.out, LONG * row);
    assert_memory_equal(a.logits, b.logits, (size_t)m->target->cfg.V * sizeof(float));
    assert_same_state(a.state, b.state, "cache.");
    assert_same_state(a.state, b.state, "draft.");
    free_aftermath(&a);
    free_aftermath(&b);
}

static int setup(void **state)
{
    static models m;
    m = load_models(TINY);
    *state = &m;
    return 0;
}

static int teardown(void **state)
{
    free_models(*state);
    return 0;
}

/* A GGUF block may have a head of its own: here the embedding's matrix plays it. */
static void a_head_of_its_own(void **state)
{
    models m = *(models *)*state;
    ts_weights own = *m.mtp;
    const int64_t C = own.cfg.C, V = own.cfg.V;
    float *hidden = calloc((size_t)C, sizeof *hidden), *z = calloc((size_t)(2 * V), sizeof *z);
    const char *const engines[] = {"ref32", "fast"};
    own.head = m.target->embed;
    for (int64_t i = 0; i < C; i++)
        hidden[i] = (float)(i % 7) - 3.0f;
    for (int i = 0; i < 2; i++) {
        ts_rounds *r = open_wide(&m, &own, engines[i]);
        const ts_round_engine *e = ts_rounds_engine(r);
        ts_error err = {0};
        must(e->mtp(e->ctx, (int32_t[]){414}, hidden, 1, z + i * V, NULL, &err), &err);
        ts_rounds_close(r);
    }
    assert_memory_equal(z, z + V, (size_t)V * sizeof *z);
    free(hidden);
    free(z);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_row_of_a_place_stays),
        cmocka_unit_test(a_prompt_of_two_pieces),
        cmocka_unit_test(a_head_of_its_own),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
