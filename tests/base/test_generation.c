#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/scratch.h"
#include "config/generation.h"

static ts_error err;

static ts_status load(const char *text, ts_generation_config *g)
{
    folder_text(&dir, "generation_config.json", text);
    err = (ts_error){0};
    return ts_generation_config_load(dir.path, g, &err);
}

static void assert_is(const char *text, float temperature, int64_t top_k, float top_p, float min_p,
                      float repetition)
{
    ts_generation_config g;
    if (load(text, &g))
        fail_msg("%s: %s: %s", text, err.tensor, err.reason);
    assert_true(g.temperature == temperature && g.top_k == top_k && g.top_p == top_p);
    assert_true(g.min_p == min_p && g.repetition == repetition);
}

static void values(void **state)
{
    (void)state;
    assert_is("{\"do_sample\":true,\"temperature\":0.6,\"top_k\":20,\"top_p\":0.95,\"min_p\":0.05,"
              "\"repetition_penalty\":1.05,\"eos_token_id\":[1,2],\"transformers_version\":\"x\"}",
              0.6f, 20, 0.95f, 0.05f, 1.05f);
    assert_is("{\"do_sample\":false,\"temperature\":0.6,\"top_k\":20,\"repetition_penalty\":1.5}", 0, 20, 1, 0,
              1.5f);
    assert_is("{\"temperature\":0.6}", 0.6f, 0, 1, 0, 1);
    assert_is("{}", 1, 0, 1, 0, 1);
    assert_is("{\"temperature\":null,\"top_k\":null,\"top_p\":null,\"min_p\":null,\"do_sample\":null}", 1, 0, 1, 0,
              1);
    assert_is("{\"temperature\":0,\"top_k\":-1,\"top_p\":0,\"min_p\":1}", 0, -1, 0, 1, 1);
}

static void errors(void **state)
{
    static const char *const bad[][2] = {
        {"{\"temperature\":-1}", "temperature"},
        {"{\"temperature\":\"1\"}", "temperature"},
        {"{\"temperature\":1e-45}", "temperature"},
        {"{\"temperature\":1e39}", "temperature"},
        {"{\"temperature\":1e999}", "temperature"},
        {"{\"top_k\":1.5}", "top_k"},
        {"{\"top_k\":-2}", "top_k"},
        {"{\"top_k\":4294967296}", "top_k"},
        {"{\"top_p\":1.5}", "top_p"},
        {"{\"min_p\":-0.5}", "min_p"},
        {"{\"min_p\":[0]}", "min_p"},
        {"{\"repetition_penalty\":0}", "repetition_penalty"},
        {"{\"repetition_penalty\":-1}", "repetition_penalty"},
        {"{\"repetition_penalty\":1e39}", "repetition_penalty"},
        {"{\"do_sample\":1}", "do_sample"},
    };
    (void)state;
    ts_generation_config g = {.top_k = 77};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (load(bad[i][0], &g) != TS_BAD)
            fail_msg("%s was read", bad[i][0]);
        assert_string_equal(err.tensor, bad[i][1]);
        assert_non_null(strstr(err.file, "generation_config.json"));
    }
    assert_int_equal(load("[]", &g), TS_BAD);
    assert_int_equal(load("{\"top_k\":1,\"top_k\":2}", &g), TS_BAD);
    assert_int_equal(load("{", &g), TS_BAD);
    assert_int_equal(ts_generation_config_load("/nonexistent", &g, &err), TS_BAD);
    assert_int_equal(g.top_k, 77); /* untouched */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(errors, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
