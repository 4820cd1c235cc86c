/* Records of rounds: written, read back to the bit, and refused with file, line and member. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/json.h"
#include "round.h"

static void must(ts_status status, const ts_error *err)
{
    if (status != TS_OK)
        fail_msg("%s: %s: %s", err->file, err->tensor, err->reason);
}

/* Everything recorded, with numbers that no short decimal gives. */
static ts_round full(uint64_t seed)
{
    ts_round r = {.n = 1234567890123,
                  .anchor = 7,
                  .k = 3,
                  .tested = 3,
                  .has_q_d = true,
                  .has_final_u = true,
                  .a = 2,
                  .final = 99,
                  .slots = 2,
                  .has_score = true,
                  .has_top = true,
                  .n_emitted = 3};
    snprintf(r.prompt, sizeof r.prompt, "prompt %d", (int)seed);
    for (int i = 0; i < 3; i++) {
        uint64_t at = 100 * (uint64_t)i;
        r.draft[i] = (int32_t)(10 + i);
        r.u[i] = ts_uniform(seed, at, TS_DRAW_INPUT);
        r.p_d[i] = ts_uniform(seed, at + 1, TS_DRAW_INPUT) / 3;
        r.q_d[i] = ts_uniform(seed, at + 2, TS_DRAW_INPUT) * 1e-300;
        for (int c = 0; c < 2; c++) {
            r.cand[i][c] = (int32_t)(20 + c);
            r.score[i][c] = -1e17 * ts_uniform(seed, at + 3 + (uint64_t)c, TS_DRAW_INPUT);
        }
        for (int c = 0; c < 4; c++)
            r.top[i][c] = ts_uniform(seed, at + 10 + (uint64_t)c, TS_DRAW_INPUT) - 0.5;
    }
    r.final_u = ts_uniform(seed, 77, TS_DRAW_INPUT);
    r.min_margin = 0.1;
    r.min_slack = 5e-324;
    r.emitted[0] = 10;
    r.emitted[1] = 11;
    r.emitted[2] = 99;
    ts_sha256("S", 1, r.hash_S);
    ts_sha256("c", 1, r.hash_conv);
    ts_sha256("k", 1, r.hash_kv);
    ts_sha256("x", 1, r.hash_ctx);
    return r;
}

typedef struct {
    ts_round r[2000];
    int n;
} list;

static list seen;

static ts_status keep(void *user, const ts_round *r, ts_error *err)
{
    list *l = user;
    if (l->n == 2000)
        return ts_fail(err, TS_BAD, NULL, NULL, "too many");
    l->r[l->n++] = *r;
    return TS_OK;
}

/* A file of this text; name ends in `suffix`. */
static void put(char path[64], const char *suffix, const char *text)
{
    snprintf(path, 64, "/tmp/touchstone-round-%d%s", (int)getpid(), suffix);
    must(ts_write_file(path, text, strlen(text), NULL), &(ts_error){0});
}

static ts_status load(const char *suffix, const char *text, ts_error *err)
{
    char path[64];
    put(path, suffix, text);
    seen.n = 0;
    ts_status status = ts_rounds_load(path, keep, &seen, err);
    unlink(path);
    return status;
}

static void test_round_trip(void **state)
{
    (void)state;
    char path[64];
    ts_error err = {0};
    ts_round r[3] = {full(1), full(2), {.n = 5, .anchor = 1, .final = 2, .n_emitted = 1, .emitted = {2}}};
    r[2].min_margin = r[2].min_slack = (double)INFINITY;
    snprintf(path, sizeof path, "/tmp/touchstone-round-%d.jsonl", (int)getpid());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < 3; i++)
        must(ts_round_write(f, path, &r[i], &err), &err);
    fclose(f);
    seen.n = 0;
    must(ts_rounds_load(path, keep, &seen, &err), &err);
    assert_int_equal(seen.n, 3);
    for (int i = 0; i < 3; i++)
        assert_memory_equal(&r[i], &seen.r[i], sizeof r[i]);
    unlink(path);
}

/* The bits of 0.1 and of the smallest subnormal stand in the line. */
static void test_bits_are_written(void **state)
{
    (void)state;
    ts_round r = full(1);
    cJSON *o = ts_round_json(&r);
    assert_string_equal(cJSON_GetObjectItem(o, "min_margin_hex")->valuestring, "3fb999999999999a");
    assert_string_equal(cJSON_GetObjectItem(o, "min_slack_hex")->valuestring, "0000000000000001");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(o, "score_hex")), 3);
    cJSON_Delete(o);
}

/* A verdict's record says what it says, and its numbers replay. */
static void test_of_a_verdict(void **state)
{
    (void)state;
    int32_t ids[3] = {4, 5, 6}, draft[2] = {5, 4};
    double weights[3] = {0.5, 0.25, 0.25}, one = 1.0;
    ts_distribution p = {.id = ids, .weight = weights, .n = 3, .total = 1.0, .margin = 1.5},
                    q = {.id = draft, .weight = &one, .n = 1, .total = 1.0}, rows[3] = {p, p, p}, laws[2] = {q, q};
    laws[1].id = draft + 1;
    ts_error err = {0};
    for (uint64_t seed = 0; seed < 100; seed++) {
        ts_uniforms from = ts_uniforms_philox(&seed);
        ts_verify_input in = {40, 2, draft, rows, laws, &from};
        ts_round_verdict v, again;
        ts_round r, back;
        must(ts_verify_ratio(&in, &v, &err), &err);
        ts_round_of(&in, &v, 3, &r);
        assert_true(r.n == 40 && r.anchor == 3 && r.k == 2 && r.a == v.a && r.n_emitted == v.a + 1);
        assert_true(r.emitted[v.a] == v.final && (v.a == 0 || r.emitted[0] == 5) && r.min_margin == 1.5);
        cJSON *o = ts_round_json(&r), *parsed = NULL;
        char *text = cJSON_Print(o);
        must(ts_json_parse("here", text, strlen(text), &parsed, &err), &err);
        must(ts_round_parse("here", parsed, true, &back, &err), &err);
        cJSON_free(text);
        cJSON_Delete(o);
        cJSON_Delete(parsed);
        assert_memory_equal(&r, &back, sizeof r);
        ts_recorded_uniforms record = {41, back.u, back.tested, &back.final_u};
        from = ts_uniforms_recorded(&record);
        must(ts_verify_ratio(&in, &again, &err), &err);
        assert_memory_equal(&v, &again, sizeof v);
    }
}

#define GOOD "\"schema\":1,\"n\":4,\"anchor\":1,\"draft\":[5,6],\"a\":1,\"final\":9"

static void test_forms_of_files(void **state)
{
    (void)state;
    ts_error err = {0};
    must(load(".jsonl", "{" GOOD "}\n{" GOOD ",\"prompt\":\"b\"}\n", &err), &err);
    assert_true(seen.n == 2 && seen.r[0].prompt[0] == '\0' && strcmp(seen.r[1].prompt, "b") == 0);
    assert_true(seen.r[0].k == 2 && seen.r[0].n_emitted == 2 && seen.r[0].emitted[1] == 9);
    must(load(".txt", "{" GOOD "}\n{" GOOD "}", &err), &err); /* by its first line, and without a last newline */
    assert_int_equal(seen.n, 2);
    must(load(".json", "{\"rounds\":[{" GOOD "}]}", &err), &err);
    assert_true(seen.n == 1 && seen.r[0].prompt[0] == '\0');
    must(load(".json", "{\"seed\":1,\"cases\":{\"x\":{\"rounds\":[{" GOOD "}]}}}", &err), &err);
    assert_true(seen.n == 1 && strcmp(seen.r[0].prompt, "x") == 0);
    must(ts_rounds_load("golden/external/spec-ratio-dflash7.json", keep, (seen.n = 0, &seen), &err), &err);
    assert_int_equal(seen.n, 218);
    must(ts_rounds_load("golden/external/spec-greedy-dflash3.json", keep, (seen.n = 0, &seen), &err), &err);
    assert_true(seen.n > 200 && seen.r[0].slots == 16 && seen.r[0].has_score);
    must(ts_rounds_load("golden/external/spec-greedy-mtp3.json", keep, (seen.n = 0, &seen), &err), &err);
    assert_true(seen.r[0].has_top && strcmp(seen.r[0].prompt, "chatA") == 0);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *round, *member, *reason;
    } cases[] = {
        {"[1]", "", "is no JSON object"},
        {"{\"n\":4,\"anchor\":1,\"draft\":[],\"a\":0,\"final\":9}", "schema", "missing"},
        {"{\"schema\":2,\"n\":4,\"anchor\":1,\"draft\":[],\"a\":0,\"final\":9}", "schema", "outside"},
        {"{" GOOD ",\"finel_u\":0.5}", "finel_u", "is no member of a round"},
        {"{\"schema\":1,\"anchor\":1,\"draft\":[],\"a\":0,\"final\":9}", "n", "missing"},
        {"{\"schema\":1,\"n\":-1,\"anchor\":1,\"draft\":[],\"a\":0,\"final\":9}", "n", "outside"},
        {"{\"schema\":1,\"n\":1,\"anchor\":1,\"draft\":5,\"a\":0,\"final\":9}", "draft", "no array"},
        {"{\"schema\":1,\"n\":1,\"anchor\":1,\"a\":0,\"final\":9}", "draft", "missing"},
        {"{\"schema\":1,\"n\":1,\"anchor\":1,\"draft\":[1.5],\"a\":0,\"final\":9}", "draft", "no token id"},
        {"{\"schema\":1,\"n\":1,\"anchor\":1,\"draft\":[1],\"a\":2,\"final\":9}", "a", "outside"},
        {"{\"schema\":1,\"n\":1,\"anchor\":1,\"draft\":[1],\"a\":0,\"final\":-1}", "final", "outside"},
        {"{" GOOD ",\"k\":3}", "k", "outside"},
        {"{" GOOD ",\"u\":[0.5],\"p_d\":[0.5]}", "u", "has 1 entries, not 2"},
        {"{" GOOD ",\"u\":[0.5,1],\"p_d\":[0.5,0.5]}", "u", "outside its range"},
        {"{" GOOD ",\"u\":[0.5,-0.5],\"p_d\":[0.5,0.5]}", "u", "outside its range"},
        {"{" GOOD ",\"u\":[0.5,0.5]}", "p_d", "is missing"},
        {"{" GOOD ",\"p_d\":[0.5,0.5]}", "p_d", "has"},
        {"{" GOOD ",\"u\":[0.5,\"0.5\"],\"p_d\":[0.5,0.5]}", "u", "no number"},
        {"{" GOOD ",\"q_d\":[0.5,1.5]}", "q_d", "outside its range"},
        {"{" GOOD ",\"q_d\":[0.5]}", "q_d", "has 1 entries, not 2"},
        {"{" GOOD ",\"q_d\":[0.5,0.5],\"q_d_hex\":[\"3fe0000000000000\",\"3fe0000000000001\"]}", "q_d", "its bits"},
        {"{" GOOD ",\"final_u\":0.5,\"final_u_hex\":\"3fe\"}", "final_u", "its bits"},
        {"{" GOOD ",\"final_u_hex\":\"3fe0000000000000\"}", "final_u", "missing beside its bits"},
        {"{" GOOD ",\"min_slack\":-0.1}", "min_slack", "outside its range"},
        {"{" GOOD ",\"cand\":[[1,2]]}", "cand", "has 1 entries, not 2"},
        {"{" GOOD ",\"cand\":[[1,2],[1]]}", "cand", "has 1 entries, not 2"},
        {"{" GOOD ",\"cand\":[[1],[1]],\"score\":[[1],[1,2]]}", "score", "has 2 entries, not 1"},
        {"{" GOOD ",\"score\":[[],[]]}", "cand", "is missing"},
        {"{" GOOD ",\"top\":[[1,2,3,4],[1,2,3]]}", "top", "has 3 entries, not 4"},
        {"{" GOOD ",\"emitted\":[5,8]}", "emitted", "is not how"},
        {"{" GOOD ",\"emitted\":[5,9,9]}", "emitted", "has 3 entries"},
        {"{" GOOD ",\"hash\":{\"Q\":\"00\"}}", "hash", "'Q' is not"},
        {"{" GOOD ",\"hash\":{\"S\":\"00\"}}", "hash", "S is no sha256"},
        {"{" GOOD ",\"hash\":3}", "hash", "is no object"},
        {"{" GOOD, "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1000];
        ts_error err = {0};
        snprintf(text, sizeof text, "{" GOOD "}\n%s\n", cases[i].round);
        assert_int_equal(load(".jsonl", text, &err), TS_BAD);
        size_t length = strlen(err.file);
        if (strcmp(err.tensor, cases[i].member) != 0 || !strstr(err.reason, cases[i].reason) || length < 8 ||
            strcmp(err.file + length - 8, ".jsonl:2") != 0)
            fail_msg("%s: got %s: %s: %s", cases[i].round, err.file, err.tensor, err.reason);
    }
    ts_error err = {0};
    assert_int_equal(load(".json", "{\"cases\":{\"x\":{\"rounds\":[{" GOOD "},{\"n\":1}]}}}", &err), TS_BAD);
    assert_non_null(strstr(err.file, "x.rounds[1]"));
    assert_int_equal(load(".json", "{\"cases\":{}}", &err), TS_BAD);
    assert_string_equal(err.reason, "has none");
    assert_int_equal(load(".jsonl", "", &err), TS_BAD);
    assert_int_equal(ts_rounds_load("/none.jsonl", keep, &seen, &err), TS_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_bits_are_written),
        cmocka_unit_test(test_of_a_verdict), cmocka_unit_test(test_forms_of_files),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
