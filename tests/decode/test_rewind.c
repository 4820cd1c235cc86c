/* The state after a pass that was undone in part is that of a sequence that never ran the rows undone; and rows of
 * a verification pass have the bits of single steps. */
#include "speculation.h"

enum { MOST_K = 7, LONGEST = MOST_K + 3 + MOST_K + 1 };

static const char *const engines[] = {"ref32", "fast"};

static const int32_t ids[LONGEST + 1] = {414, 66, 198, 473, 582, 272, 431, 18,  323, 370,
                                         713, 0,  1,   2,   862, 62,  317, 522, 33};

static int64_t row_bytes(const models *m)
{
    return m->target->cfg.V * (int64_t)sizeof(float);
}

/* What plain decoding knows and says after each token. */
typedef struct {
    ts_trace *state[LONGEST + 1];
    float *logits[LONGEST + 1];
} steps;

static steps step_through(const models *m, const char *engine)
{
    steps s = {0};
    ts_error err = {0};
    ts_rounds *r = open_rounds(m, m->mtp, engine, LONGEST + 1, MOST_K);
    const ts_round_engine *e = ts_rounds_engine(r);
    const ts_taps none = {0};
    for (int n = 0; n < LONGEST; n++) {
        s.logits[n + 1] = malloc((size_t)row_bytes(m));
        must(e->forward(e->ctx, ids + n, 1, 1, s.logits[n + 1], &none, &err), &err);
        s.state[n + 1] = state_of(r);
    }
    ts_rounds_close(r);
    return s;
}

static void free_steps(steps *s)
{
    for (int n = 0; n <= LONGEST; n++) {
        ts_trace_free(s->state[n]);
        free(s->logits[n]);
    }
}

static void compare_rows(const models *m, const steps *s, int64_t first, int64_t T, const float *logits)
{
    for (int64_t t = 0; t < T; t++)
        assert_memory_equal(logits + t * m->target->cfg.V, s->logits[first + t + 1], (size_t)row_bytes(m));
}

/* P tokens, then a block of k + 1, then back to every row of it. */
static void rewind_block(const models *m, const char *engine, const steps *s, int64_t P, int k)
{
    ts_rounds *r = open_rounds(m, m->mtp, engine, LONGEST + 1, k);
    const ts_round_engine *e = ts_rounds_engine(r);
    const ts_taps none = {0};
    ts_error err = {0};
    float *logits = malloc((size_t)((k + 1) * row_bytes(m)));
    must(e->forward(e->ctx, ids, P, 1, logits, &none, &err), &err);
    must(e->forward(e->ctx, ids + P, k + 1, k + 1, logits, &none, &err), &err);
    compare_rows(m, s, P, k + 1, logits);
    for (int keep = k + 1; keep >= 1; keep--) {
        must(e->rewind(e->ctx, P + keep, &err), &err);
        ts_trace *now = state_of(r);
        assert_same_state(now, s->state[P + keep], "cache.");
        ts_trace_free(now);
    }
    assert_int_not_equal(e->rewind(e->ctx, P, &err), TS_OK); /* the state before the pass is not kept */
    must(e->forward(e->ctx, ids + P + 1, 1, 1, logits, &none, &err), &err);
    compare_rows(m, s, P + 1, 1, logits);
    free(logits);
    ts_rounds_close(r);
}

static void any_prefix_of_a_pass_can_stay(void **state)
{
    models *m = *state;
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        steps s = step_through(m, engines[i]);
        for (int64_t P = 1; P <= MOST_K + 3; P++)
            rewind_block(m, engines[i], &s, P, MOST_K);
        for (int k = 0; k < MOST_K; k++)
            rewind_block(m, engines[i], &s, k + 1, k);
        free_steps(&s);
    }
}

static void only_what_was_kept_can_come_back(void **state)
{
    models *m = *state;
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        ts_rounds *r = open_rounds(m, m->mtp, engines[i], LONGEST + 1, 2);
        const ts_round_engine *e = ts_rounds_engine(r);
        const ts_taps none = {0};
        ts_error err = {0};
        float *logits = malloc((size_t)row_bytes(m));
        must(e->forward(e->ctx, ids, 4, 1, logits, &none, &err), &err); /* longer than k + 1 */
        assert_int_equal(e->rewind(e->ctx, 3, &err), TS_BAD);
        assert_int_equal(e->rewind(e->ctx, 5, &err), TS_BAD);
        assert_int_equal(e->rewind(e->ctx, -1, &err), TS_BAD);
        must(e->rewind(e->ctx, 4, &err), &err);
        free(logits);
        ts_rounds_close(r);
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_prefix_of_a_pass_can_stay),
        cmocka_unit_test(only_what_was_kept_can_come_back),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
