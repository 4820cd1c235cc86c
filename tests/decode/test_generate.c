/* Generation with a toy stepper whose logits depend on every id fed so far. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/json.h"
#include "generate.h"
#include "num/philox.h"

enum { V = 50 };

typedef struct {
    uint64_t hash;                /* of all ids so far */
    int64_t rows, calls, fail_at; /* forward number fail_at fails */
} toy;

static ts_status toy_forward(void *ctx, const int32_t *ids, int64_t T, float *logits, ts_error *err)
{
    toy *t = ctx;
    if (++t->calls == t->fail_at)
        return ts_fail(err, TS_DIFFERS, NULL, "toy", "planted failure");
    for (int64_t i = 0; i < T; i++)
        t->hash = (t->hash ^ (uint64_t)ids[i]) * 0x9e3779b97f4a7c15u + 1;
    t->rows += T;
    for (uint64_t v = 0; v < V; v++)
        logits[v] = (float)ts_uniform(t->hash, v, TS_DRAW_INPUT) * 8.0f;
    return TS_OK;
}

static const int32_t PROMPT[10] = {4, 8, 15, 16, 23, 42, 7, 7, 49, 0};
static const ts_config NO_STOPS;

static ts_sampling warm(void)
{
    ts_sampling s = ts_sampling_default();
    s.temperature = 1.0f;
    s.repetition = 1.2f;
    s.seed = 1234;
    return s;
}

static ts_generated must_generate(toy *t, ts_generation g, size_t n_prompt)
{
    ts_stepper stepper = {.ctx = t, .V = V, .forward = toy_forward};
    ts_generated out;
    ts_error err = {0};
    g.stepper = &stepper;
    if (ts_generate_ids(&g, PROMPT, n_prompt, &out, &err) != TS_OK)
        fail_msg("%s: %s", err.tensor, err.reason);
    return out;
}

static void test_pieces(void **state)
{
    (void)state;
    ts_generation g = {.cfg = &NO_STOPS, .sampling = warm(), .max_new = 40};
    toy whole = {0};
    ts_generated want = must_generate(&whole, g, 10);
    assert_true(want.n == 40 && !want.stopped && want.prefill_seconds >= 0.0 && want.decode_seconds >= 0.0);
    assert_int_equal(whole.rows, 10 + 39);
    static const struct {
        int64_t piece, prefill_calls;
    } cases[] = {{1, 10}, {3, 4}, {5, 2}, {10, 1}, {11, 1}, {INT64_MAX, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        toy t = {0};
        g.piece = cases[i].piece;
        ts_generated got = must_generate(&t, g, 10);
        assert_int_equal(got.n, want.n);
        assert_memory_equal(got.ids, want.ids, want.n * sizeof *want.ids);
        assert_int_equal(t.calls, cases[i].prefill_calls + 39);
        assert_int_equal(t.rows, whole.rows);
        free(got.ids);
    }
    free(want.ids);
}

/* The stream written out by hand: every id from the logits after all ids before it, with the whole
 * history and its own position. */
static void test_stream(void **state)
{
    (void)state;
    ts_generation g = {.cfg = &NO_STOPS, .sampling = warm(), .max_new = 30};
    toy t = {0}, own = {0};
    ts_generated got = must_generate(&t, g, 10);
    int32_t ids[40];
    float logits[V];
    memcpy(ids, PROMPT, sizeof PROMPT);
    assert_int_equal(toy_forward(&own, ids, 10, logits, NULL), TS_OK);
    for (size_t n = 10; n < 40; n++) {
        ts_sample how = {0};
        assert_int_equal(ts_sample_token(&g.sampling, logits, V, ids, n, n, &how, NULL), TS_OK);
        assert_int_equal(got.ids[n - 10], how.token);
        ids[n] = how.token;
        assert_int_equal(toy_forward(&own, ids + n, 1, logits, NULL), TS_OK);
    }
    free(got.ids);
}

static void test_stop(void **state)
{
    (void)state;
    ts_generation g = {.cfg = &NO_STOPS, .sampling = warm(), .max_new = 40};
    toy a = {0}, b = {0};
    ts_generated all = must_generate(&a, g, 10);
    ts_config cfg = {.stop = {all.ids[20], all.ids[12]}, .n_stop = 2};
    size_t first = 0;
    while (all.ids[first] != all.ids[20] && all.ids[first] != all.ids[12])
        first++;
    g.cfg = &cfg;
    ts_generated cut = must_generate(&b, g, 10);
    assert_true(cut.stopped);
    assert_int_equal(cut.n, first + 1);
    assert_memory_equal(cut.ids, all.ids, cut.n * sizeof *cut.ids);
    assert_int_equal(b.calls, 1 + first);
    free(all.ids);
    free(cut.ids);
}

typedef struct {
    int32_t ids[64];
    double u[64];
    size_t n, stop_after;
} listener;

static int listen(void *user, int32_t id, const ts_sample *how)
{
    listener *l = user;
    assert_int_equal(id, how->token);
    l->ids[l->n] = id;
    l->u[l->n++] = how->u;
    return l->n == l->stop_after;
}

static void test_on_token(void **state)
{
    (void)state;
    listener l = {.stop_after = 7};
    ts_generation g = {.cfg = &NO_STOPS, .sampling = warm(), .max_new = 40, .on_token = listen, .user = &l};
    toy t = {0};
    ts_generated out = must_generate(&t, g, 10);
    assert_true(out.n == 7 && l.n == 7 && !out.stopped && t.calls == 7);
    assert_memory_equal(out.ids, l.ids, 7 * sizeof *out.ids);
    free(out.ids);
}

static void test_prefill_only(void **state)
{
    (void)state;
    ts_generation g = {.cfg = &NO_STOPS, .sampling = warm(), .max_new = 0, .piece = 4};
    toy t = {0};
    ts_generated out = must_generate(&t, g, 10);
    assert_true(out.n == 0 && !out.stopped && t.rows == 10);
    free(out.ids);
}

static void expect_error(ts_generation g, toy t, size_t n_prompt, ts_status want, const char *field)
{
    ts_stepper stepper = {.ctx = &t, .V = V, .forward = toy_forward};
    ts_generated out;
    ts_error err = {0};
    g.stepper = &stepper;
    assert_int_equal(ts_generate_ids(&g, PROMPT, n_prompt, &out, &err), want);
    assert_string_equal(err.tensor, field);
    assert_true(out.ids == NULL && out.n == 0);
}

static ts_status nan_forward(void *ctx, const int32_t *ids, int64_t T, float *logits, ts_error *err)
{
    ts_status status = toy_forward(ctx, ids, T, logits, err);
    if (((toy *)ctx)->calls == 5)
        logits[3] = NAN;
    return status;
}

static void test_errors(void **state)
{
    (void)state;
    const ts_generation good = {.cfg = &NO_STOPS, .sampling = warm(), .max_new = 20, .piece = 3};
    expect_error(good, (toy){.fail_at = 3}, 10, TS_DIFFERS, "toy");
    expect_error(good, (toy){.fail_at = 9}, 10, TS_DIFFERS, "toy");
    expect_error(good, (toy){0}, 0, TS_BAD, "prompt");
    ts_generation g = good;
    g.max_new = -1;
    expect_error(g, (toy){0}, 10, TS_BAD, "max_new");
    g.max_new = INT64_MAX;
    expect_error(g, (toy){0}, 10, TS_BAD, "max_new");
    g = good;
    g.piece = -1;
    expect_error(g, (toy){0}, 10, TS_BAD, "piece");
    g = good;
    g.sampling.repetition = 0.0f;
    expect_error(g, (toy){0}, 10, TS_BAD, "repetition");
}

static void test_bad_model(void **state)
{
    (void)state;
    toy t = {0};
    ts_stepper stepper = {.ctx = &t, .V = V, .forward = nan_forward};
    ts_generation g = {.stepper = &stepper, .cfg = &NO_STOPS, .sampling = warm(), .max_new = 20};
    ts_generated out;
    ts_error err = {0};
    assert_int_equal(ts_generate_ids(&g, PROMPT, 10, &out, &err), TS_BAD);
    assert_string_equal(err.tensor, "logits");
    assert_null(out.ids);
    stepper.V = 49; /* the prompt holds id 49 */
    assert_int_equal(ts_generate_ids(&g, PROMPT, 10, &out, &err), TS_BAD);
    assert_string_equal(err.tensor, "prompt");
    stepper.V = 0;
    assert_int_equal(ts_generate_ids(&g, PROMPT, 10, &out, &err), TS_BAD);
}

/* sample-plain.json: the uniforms of every recorded stream are those at position prompt length + i. Only
 * lengths matter here, so any ids will do; the lengths stand in the speculation goldens of the same prompts. */
static void same_uniforms(const cJSON *stream, size_t n_prompt, uint64_t seed)
{
    const cJSON *u = cJSON_GetObjectItem(stream, "u"), *item;
    listener l = {0};
    toy t = {0};
    ts_stepper stepper = {.ctx = &t, .V = V, .forward = toy_forward};
    ts_generation g = {.stepper = &stepper, .cfg = &NO_STOPS, .sampling = warm(), .on_token = listen, .user = &l};
    g.sampling.seed = seed;
    g.max_new = cJSON_GetArraySize(u);
    assert_true(g.max_new > 0 && g.max_new <= 64);
    int32_t *prompt = calloc(n_prompt, sizeof *prompt);
    assert_non_null(prompt);
    ts_generated out;
    assert_int_equal(ts_generate_ids(&g, prompt, n_prompt, &out, NULL), TS_OK);
    size_t i = 0;
    cJSON_ArrayForEach (item, u)
        assert_memory_equal(&item->valuedouble, &l.u[i++], sizeof(double));
    free(out.ids);
    free(prompt);
}

static void test_golden_positions(void **state)
{
    (void)state;
    cJSON *plain = NULL, *rounds = NULL, *c;
    assert_int_equal(ts_json_load("golden/external/sample-plain.json", &plain, NULL), TS_OK);
    assert_int_equal(ts_json_load("golden/external/spec-ratio-mtp3.json", &rounds, NULL), TS_OK);
    const cJSON *lengths = cJSON_GetObjectItem(rounds, "cases");
    uint64_t seed = (uint64_t)cJSON_GetObjectItem(plain, "seed")->valuedouble;
    int cases = 0;
    cJSON_ArrayForEach (c, cJSON_GetObjectItem(plain, "cases")) {
        const cJSON *same = cJSON_GetObjectItemCaseSensitive(lengths, c->string);
        assert_non_null(same);
        assert_string_equal(cJSON_GetObjectItem(same, "prompt")->valuestring,
                            cJSON_GetObjectItem(c, "prompt")->valuestring);
        same_uniforms(c, (size_t)cJSON_GetObjectItem(same, "prompt_tokens")->valueint, seed);
        cases++;
    }
    assert_int_equal(cases, 10);
    cJSON_Delete(plain);
    cJSON_Delete(rounds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),    cmocka_unit_test(test_stream),           cmocka_unit_test(test_stop),
        cmocka_unit_test(test_on_token),  cmocka_unit_test(test_prefill_only),     cmocka_unit_test(test_errors),
        cmocka_unit_test(test_bad_model), cmocka_unit_test(test_golden_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
