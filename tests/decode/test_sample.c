/* orc-sample v1 against the golden cases, to the bit, and properties they do not reach. */
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
#include <time.h>

#include "format/json.h"
#include "num/philox.h"
#include "sample.h"

#define ROOM 512

static float f32_of_hex(const cJSON *hex)
{
    assert_true(cJSON_IsString(hex));
    uint32_t bits = (uint32_t)strtoul(hex->valuestring, NULL, 16);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static const cJSON *member(const cJSON *object, const char *key)
{
    const cJSON *m = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!m)
        fail_msg("no member %s", key);
    return m;
}

static uint64_t u64_of(const cJSON *c, const char *key)
{
    return strtoull(member(c, key)->valuestring, NULL, 16);
}

static int64_t int_of(const cJSON *c, const char *key)
{
    return (int64_t)member(c, key)->valuedouble;
}

static ts_sampling sampling_of(const cJSON *c)
{
    return (ts_sampling){
        .temperature = f32_of_hex(member(c, "temperature_hex")),
        .top_k = int_of(c, "top_k"),
        .top_p = f32_of_hex(member(c, "top_p_hex")),
        .min_p = f32_of_hex(member(c, "min_p_hex")),
        .repetition = f32_of_hex(member(c, "repetition_hex")),
        .frequency = f32_of_hex(member(c, "frequency_hex")),
        .presence = f32_of_hex(member(c, "presence_hex")),
        .window = int_of(c, "window"),
        .seed = u64_of(c, "seed_hex"),
    };
}

static void same_double(const cJSON *result, const char *key, double got)
{
    double want = member(result, key)->valuedouble;
    if (memcmp(&want, &got, sizeof got) != 0)
        fail_msg("%s: %.17g, want %.17g", key, got, want);
}

static void same_draw(const cJSON *result, const ts_sample *how)
{
    const cJSON *ids = member(result, "candidates"), *weights = member(result, "weights_hex");
    assert_int_equal(how->count, int_of(result, "count"));
    assert_int_equal(how->count, cJSON_GetArraySize(ids));
    for (int i = 0; i < (int)how->count; i++) {
        assert_int_equal(how->candidates[i], cJSON_GetArrayItem(ids, i)->valueint);
        float want = f32_of_hex(cJSON_GetArrayItem(weights, i));
        assert_memory_equal(&how->weights[i], &want, sizeof want);
    }
    assert_int_equal(how->index, int_of(result, "index"));
    same_double(result, "total", how->total);
    same_double(result, "u", how->u);
    same_double(result, "target", how->target);
    same_double(result, "lo", how->lo);
    same_double(result, "hi", how->hi);
    same_double(result, "dist", how->distance);
    assert_int_equal(how->near, cJSON_IsTrue(member(result, "near")));
}

static void same_result(const cJSON *result, ts_status status, const ts_sample *how, const ts_error *err)
{
    const cJSON *error = cJSON_GetObjectItem(result, "error");
    if (error) {
        assert_int_equal(status, TS_BAD);
        assert_non_null(strstr(err->reason, error->valuestring));
        return;
    }
    assert_int_equal(status, TS_OK);
    assert_int_equal(how->token, int_of(result, "token"));
    bool greedy = strcmp(member(result, "path")->valuestring, "argmax") == 0;
    assert_int_equal(how->greedy, greedy);
    if (!greedy)
        same_draw(result, how);
}

static void test_golden(void **state)
{
    (void)state;
    cJSON *root = NULL, *c, *item;
    assert_int_equal(ts_json_load("golden/external/sampler.json", &root, NULL), TS_OK);
    int cases = 0;
    cJSON_ArrayForEach (c, member(root, "cases")) {
        float logits[ROOM], weights[ROOM];
        int32_t history[ROOM], ids[ROOM], V = 0, n = 0;
        cJSON_ArrayForEach (item, member(c, "logits_hex"))
            if (V < ROOM)
                logits[V++] = f32_of_hex(item);
        cJSON_ArrayForEach (item, member(c, "history"))
            if (n < ROOM)
                history[n++] = item->valueint;
        ts_sampling s = sampling_of(c);
        ts_sample how = {.candidates = ids, .weights = weights};
        ts_error err = {0};
        ts_status status = ts_sample_token(&s, logits, V, history, (size_t)n, u64_of(c, "position_hex"), &how,
                                           &err);
        print_message("  %s\n", member(c, "name")->valuestring);
        same_result(member(c, "result"), status, &how, &err);
        cases++;
    }
    assert_int_equal(cases, 50);
    cJSON_Delete(root);
}

/* Multiples of 1/8 in [-4,4): ties are common. */
static void fill(float *logits, int n, uint64_t seed)
{
    for (int i = 0; i < n; i++)
        logits[i] = (float)floor(ts_uniform(seed, (uint64_t)i, TS_DRAW_INPUT) * 64.0) / 8.0f - 4.0f;
}

static ts_sample must_sample(const ts_sampling *s, const float *logits, int64_t V, uint64_t position,
                             int32_t *candidates, float *weights)
{
    ts_sample how = {.candidates = candidates, .weights = weights};
    ts_error err = {0};
    if (ts_sample_token(s, logits, V, NULL, 0, position, &how, &err) != TS_OK)
        fail_msg("%s", err.reason);
    return how;
}

/* 100000 draws; 3.5 and 37.7 are the 0.001 and 0.999 quantiles of chi-square, 15 degrees of freedom. */
static void test_distribution(void **state)
{
    (void)state;
    enum { V = 16, DRAWS = 100000 };
    ts_sampling s = ts_sampling_default();
    s.temperature = 1.5f;
    s.seed = 99;
    float logits[V];
    fill(logits, V, 3);
    int seen[V] = {0};
    for (uint64_t i = 0; i < DRAWS; i++)
        seen[must_sample(&s, logits, V, i, NULL, NULL).token]++;
    double total = 0.0, chi2 = 0.0;
    for (int i = 0; i < V; i++)
        total += exp((double)logits[i] / 1.5);
    for (int i = 0; i < V; i++) {
        double want = DRAWS * exp((double)logits[i] / 1.5) / total;
        assert_true(want > 20.0);
        chi2 += (seen[i] - want) * (seen[i] - want) / want;
    }
    print_message("  chi-square %.2f\n", chi2);
    assert_true(chi2 < 37.7 && chi2 > 3.5);
}

static void test_top_1_is_greedy(void **state)
{
    (void)state;
    enum { V = 40 };
    ts_sampling greedy = ts_sampling_default(), top1 = greedy;
    top1.temperature = 0.7f;
    top1.top_k = 1;
    for (uint64_t i = 0; i < 500; i++) {
        float logits[V];
        fill(logits, V, i);
        ts_sample a = must_sample(&greedy, logits, V, i, NULL, NULL),
                  b = must_sample(&top1, logits, V, i, NULL, NULL);
        assert_int_equal(a.token, b.token);
        assert_int_equal(a.boundary, b.boundary);
        assert_true(a.greedy && !b.greedy && b.count == 1);
    }
}

/* Weights 1, 0.5, 0.3, 0.2: top-p 0.6 takes two of their total of 2; of the 1.5 that min-p would leave, one. */
static void test_top_p_before_min_p(void **state)
{
    (void)state;
    const float logits[] = {0.0f, -0.69314718f, -1.2039728f, -1.6094379f};
    ts_sampling s = ts_sampling_default();
    s.temperature = 1.0f;
    s.top_p = 0.6f;
    s.min_p = 0.4f;
    assert_int_equal(must_sample(&s, logits, 4, 0, NULL, NULL).count, 2);
}

/* -31/64 times 1/T, not divided by T: other floats, whose exponentials differ too. */
static void test_inverse_temperature(void **state)
{
    (void)state;
    const float logits[] = {0.0f, -0.484375f};
    float weights[2];
    ts_sampling s = ts_sampling_default();
    s.temperature = 0.7f;
    ts_sample how = must_sample(&s, logits, 2, 0, NULL, weights);
    assert_true(weights[0] == 1.0f && weights[1] == 0x1.004d9p-1f);
    assert_true(how.total == 1.0 + 0x1.004d9p-1); /* of the weights as rounded to f32 */
}

/* An id that occurred three times is divided by the repetition penalty once: 1/2 beats 0.4. */
static void test_repetition_counts_once(void **state)
{
    (void)state;
    const float logits[] = {1.0f, 0.4f};
    const int32_t history[] = {0, 0, 0};
    ts_sampling s = ts_sampling_default();
    s.repetition = 2.0f;
    ts_sample how = {0};
    ts_error err;
    assert_int_equal(ts_sample_token(&s, logits, 2, history, 3, 3, &how, &err), TS_OK);
    assert_int_equal(how.token, 0);
}

/* Of the last `window` ids: only id 1 is penalised, so 1 beats 1.1 - 0.5. */
static void test_window_ends_with_the_history(void **state)
{
    (void)state;
    const float logits[] = {1.0f, 1.1f};
    const int32_t history[] = {0, 0, 1};
    ts_sampling s = ts_sampling_default();
    s.presence = 0.5f;
    s.window = 1;
    ts_sample how = {0};
    ts_error err;
    assert_int_equal(ts_sample_token(&s, logits, 2, history, 3, 3, &how, &err), TS_OK);
    assert_int_equal(how.token, 0);
}

static void test_one_id(void **state)
{
    (void)state;
    ts_sampling s = ts_sampling_default();
    s.temperature = 1.0f;
    s.seed = 5;
    ts_sample how = must_sample(&s, (float[]){-7.5f}, 1, 3, NULL, NULL);
    assert_true(how.token == 0 && how.count == 1 && how.total == 1.0);
    assert_true(how.u == ts_uniform(5, 3, TS_DRAW_SAMPLE));
}

static void test_all_equal(void **state)
{
    (void)state;
    enum { V = 100 };
    float logits[V] = {0};
    int32_t ids[V];
    ts_sampling s = ts_sampling_default();
    s.temperature = 0.3f;
    for (uint64_t i = 0; i < 200; i++) {
        ts_sample how = must_sample(&s, logits, V, i, ids, NULL);
        assert_int_equal(how.token, (int)floor(ts_uniform(0, i, TS_DRAW_SAMPLE) * V));
        for (int j = 0; j < V; j++)
            assert_int_equal(ids[j], j);
    }
}

static void shuffle(int32_t *order, int n, uint64_t seed)
{
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)(ts_uniform(seed, (uint64_t)i, TS_DRAW_INPUT) * (i + 1));
        int32_t t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

/* Renaming ids renames candidates, and within equal logits ids ascend; weights and the draw stay. */
static void test_permutation(void **state)
{
    (void)state;
    enum { V = 60 };
    ts_sampling s = ts_sampling_default();
    s.temperature = 0.9f;
    s.top_k = 45;
    s.top_p = 0.95f;
    s.min_p = 0.01f;
    for (uint64_t round = 0; round < 100; round++) {
        float logits[V], moved[V], weights[V], moved_weights[V];
        int32_t order[V], ids[V], moved_ids[V];
        fill(logits, V, round);
        shuffle(order, V, round + 1000);
        for (int i = 0; i < V; i++)
            moved[order[i]] = logits[i];
        ts_sample a = must_sample(&s, logits, V, round, ids, weights);
        ts_sample b = must_sample(&s, moved, V, round, moved_ids, moved_weights);
        assert_true(a.index == b.index && a.count == b.count && a.total == b.total && a.boundary == b.boundary);
        assert_memory_equal(weights, moved_weights, (size_t)a.count * sizeof *weights);
        for (int64_t i = 0; i < a.count; i++) {
            assert_true(logits[ids[i]] == moved[moved_ids[i]]);
            assert_true(i == 0 || moved[moved_ids[i - 1]] > moved[moved_ids[i]] || moved_ids[i - 1] < moved_ids[i]);
        }
    }
}

static void test_large_vocabulary(void **state)
{
    (void)state;
    enum { V = 248320 };
    float *logits = malloc(V * sizeof *logits), *weights = malloc(V * sizeof *weights);
    assert_true(logits && weights);
    for (uint64_t i = 0; i < V; i++)
        logits[i] = (float)ts_uniform(1, i, TS_DRAW_INPUT) * 30.0f - 15.0f;
    ts_sampling s = ts_sampling_default();
    s.temperature = 0.6f;
    clock_t start = clock();
    ts_sample how = must_sample(&s, logits, V, 0, NULL, weights);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    print_message("  V = 248320: %.3f s\n", seconds);
    assert_int_equal(how.count, V);
    for (int64_t i = 1; i < V; i++)
        assert_true(weights[i] <= weights[i - 1]);
    assert_true(seconds < 5.0);
    free(logits);
    free(weights);
}

static void test_boundary(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        float temperature;
        int64_t top_k;
        float top_p, min_p, logits[4];
        bool boundary;
    } cases[] = {
        {"nothing cut", 1, 0, 0, 0, {1, 1, 0, 0}, false},
        {"top-k tie", 1, 2, 0, 0, {3, 2, 2, 1}, true},
        {"top-k clear", 1, 2, 0, 0, {3, 2, 1, 1}, false},
        {"top-k between -inf changes no draw", 1, 3, 0, 0, {3, -INFINITY, -INFINITY, 1}, false},
        {"top-p reached exactly", 1, 0, 0.5f, 0, {1, 1, 1, 1}, true},
        {"top-p missed by 5e-7", 1, 0, 0.5000005f, 0, {1, 1, 1, 1}, true},
        {"top-p clear", 1, 0, 0.6f, 0, {1, 1, 1, 1}, false},
        {"top-p ends with the last", 1, 0, 0.9999999f, 0, {1, 1, 1, 1}, false},
        {"min-p tie with the best", 1, 0, 0, 1, {2, 2, 0, 0}, true},
        {"min-p alone at the top", 1, 0, 0, 1, {2, 1, 0, 0}, false},
        {"min-p at a weight", 1, 0, 0, 0.36787945f, {2, 1, 0, 0}, true},
        {"min-p clear", 1, 0, 0, 0.3f, {2, 1, 0, 0}, false},
        {"greedy tie", 0, 0, 0, 0, {1, 2, 2, 0}, true},
        {"greedy tie below", 0, 0, 0, 0, {1, 1, 2, 0}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ts_sampling s = ts_sampling_default();
        s.temperature = cases[i].temperature;
        s.top_k = cases[i].top_k;
        s.top_p = cases[i].top_p;
        s.min_p = cases[i].min_p;
        ts_sample how = must_sample(&s, cases[i].logits, 4, 0, NULL, NULL);
        if (how.boundary != cases[i].boundary)
            fail_msg("%s", cases[i].name);
    }
}

static void expect_bad(const ts_sampling *s, const char *field)
{
    ts_error err = {0};
    assert_int_equal(ts_sampling_check(s, &err), TS_BAD);
    assert_string_equal(err.tensor, field);
    ts_sample how = {.token = 77};
    assert_int_equal(ts_sample_token(s, (float[]){1, 2}, 2, NULL, 0, 0, &how, &err), TS_BAD);
    assert_int_equal(how.token, 77);
}

static void test_bad_parameters(void **state)
{
    (void)state;
    const ts_sampling good = ts_sampling_default();
    assert_int_equal(ts_sampling_check(&good, NULL), TS_OK);
    const float floats[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        ts_sampling t = good, r = good, f = good, p = good;
        t.temperature = r.repetition = f.frequency = p.presence = floats[i];
        expect_bad(&t, "temperature");
        expect_bad(&r, "repetition");
        expect_bad(&f, "frequency");
        expect_bad(&p, "presence");
    }
    ts_sampling tiny = good, zero = good, negative = good, window = good, p = good, m = good, above = good;
    tiny.temperature = 1e-40f;
    expect_bad(&tiny, "temperature");
    zero.repetition = 0.0f;
    expect_bad(&zero, "repetition");
    negative.repetition = -1.5f;
    expect_bad(&negative, "repetition");
    window.window = -1;
    expect_bad(&window, "window");
    p.top_p = NAN;
    expect_bad(&p, "top_p");
    m.min_p = NAN;
    expect_bad(&m, "min_p");
    above.min_p = 1.5f;
    expect_bad(&above, "min_p");
}

static void test_bad_history(void **state)
{
    (void)state;
    ts_sampling s = ts_sampling_default();
    s.window = 1;
    ts_sample how = {0};
    ts_error err = {0};
    const float logits[3] = {1, 2, 3};
    assert_int_equal(ts_sample_token(&s, logits, 3, (int32_t[]){3, 0}, 2, 0, &how, &err), TS_BAD);
    assert_string_equal(err.tensor, "history");
    assert_int_equal(ts_sample_token(&s, logits, 3, (int32_t[]){0, -1}, 2, 0, &how, &err), TS_BAD);
    assert_int_equal(ts_sample_token(&s, logits, 0, NULL, 0, 0, &how, &err), TS_BAD);
    assert_int_equal(ts_sample_token(&s, logits, (int64_t)INT32_MAX + 1, NULL, 0, 0, &how, &err), TS_BAD);
}

static void expect_bad_after_penalties(ts_sampling s, const float logits[2], const char *reason)
{
    ts_sample how = {0};
    ts_error err = {0};
    const int32_t history[4] = {0, 0, 1, 1};
    assert_int_equal(ts_sample_token(&s, logits, 2, history, 4, 0, &how, &err), TS_BAD);
    assert_string_equal(err.tensor, "logits after penalties");
    assert_non_null(strstr(err.reason, reason));
}

static void test_bad_after_penalties(void **state)
{
    (void)state;
    ts_sampling s = ts_sampling_default();
    s.repetition = 1e-38f;
    expect_bad_after_penalties(s, (float[]){10, 0}, "+inf");
    s.repetition = 1.0f;
    s.frequency = 3e38f;
    expect_bad_after_penalties(s, (float[]){10, 0}, "all -inf");
    s.frequency = -3e38f;
    expect_bad_after_penalties(s, (float[]){-INFINITY, 0}, "nan");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_distribution),
        cmocka_unit_test(test_top_1_is_greedy),
        cmocka_unit_test(test_top_p_before_min_p),
        cmocka_unit_test(test_inverse_temperature),
        cmocka_unit_test(test_repetition_counts_once),
        cmocka_unit_test(test_window_ends_with_the_history),
        cmocka_unit_test(test_one_id),
        cmocka_unit_test(test_all_equal),
        cmocka_unit_test(test_permutation),
        cmocka_unit_test(test_boundary),
        cmocka_unit_test(test_large_vocabulary),
        cmocka_unit_test(test_bad_parameters),
        cmocka_unit_test(test_bad_history),
        cmocka_unit_test(test_bad_after_penalties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
