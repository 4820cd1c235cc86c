/* A sliding drafter's ring of pages, given more rows at once than it holds. */
#include "decode/speculation.h"
#include "num/philox.h"

enum { ROWS = 512, CAPACITY = 2048 };

static ts_rounds *open_wide(const models *m, const char *engine)
{
    const ts_runner_options o = {.engine = engine,
                                 .profile = ts_profile_find("ts"),
                                 .capacity = CAPACITY,
                                 .threads = 2,
                                 .page_seed = 7,
                                 .poison = true};
    ts_rounds *r = NULL;
    ts_error err = {0};
    must(ts_rounds_open(m->target, m->dflash, &o, 1, &r, &err), &err);
    return r;
}

/* What the drafter knows after these context rows, as many at a time. */
static ts_trace *context_of(const models *m, const char *engine, const float *taps, int64_t piece)
{
    const int64_t width = m->dflash->cfg.dflash.taps * m->dflash->cfg.C;
    ts_rounds *r = open_wide(m, engine);
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
    models m = load_models(TINY);
    const int64_t n = ROWS * m.dflash->cfg.dflash.taps * m.dflash->cfg.C;
    float *taps = malloc((size_t)n * sizeof *taps);
    (void)state;
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
    free_models(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_last_row_of_a_place_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
