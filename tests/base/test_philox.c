#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

#include "num/philox.h"

static const char golden[] = "golden/external/sampler.json";

static cJSON *read_golden(void)
{
    FILE *f = fopen(golden, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    long size = ftell(f);
    assert_true(size > 0);
    rewind(f);
    char *text = malloc((size_t)size);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, f), size);
    fclose(f);
    cJSON *json = cJSON_ParseWithLength(text, (size_t)size);
    free(text);
    assert_non_null(json);
    return json;
}

/* The published known answers of philox4x32-10. */
static void known_answers(void **state)
{
    (void)state;
    const uint32_t zero[4] = {0, 0, 0, 0};
    const uint32_t ones[4] = {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff};
    const uint32_t of_zero[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    const uint32_t of_ones[4] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    uint32_t out[4];
    ts_philox(zero, zero, out);
    assert_memory_equal(out, of_zero, sizeof out);
    ts_philox(ones, ones, out);
    assert_memory_equal(out, of_ones, sizeof out);
}

static void output_may_overwrite_the_counter(void **state)
{
    (void)state;
    uint32_t x[4] = {0, 0, 0, 0};
    const uint32_t key[2] = {0, 0}, expected[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    ts_philox(x, key, x);
    assert_memory_equal(x, expected, sizeof x);
}

static uint64_t hex64(const cJSON *item, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, key));
    assert_non_null(text);
    return strtoull(text, NULL, 16);
}

static void uniforms_of_the_sampler_golden(void **state)
{
    (void)state;
    cJSON *json = read_golden();
    const cJSON *item;
    int checked = 0;
    cJSON_ArrayForEach (item, cJSON_GetObjectItemCaseSensitive(json, "cases")) {
        const cJSON *result = cJSON_GetObjectItemCaseSensitive(item, "result");
        const cJSON *u = cJSON_GetObjectItemCaseSensitive(result, "u");
        if (!cJSON_IsNumber(u)) /* greedy cases and refused ones draw nothing */
            continue;
        double got = ts_uniform(hex64(item, "seed_hex"), hex64(item, "position_hex"), TS_DRAW_SAMPLE);
        assert_true(got == u->valuedouble);
        checked++;
    }
    cJSON_Delete(json);
    assert_int_equal(checked, 42);
}

static void purposes_and_positions_differ(void **state)
{
    (void)state;
    double u = ts_uniform(1234, 0, TS_DRAW_SAMPLE);
    assert_true(u != ts_uniform(1234, 0, TS_DRAW_DRAFT));
    assert_true(u != ts_uniform(1234, (uint64_t)1 << 32, TS_DRAW_SAMPLE));
    assert_true(u != ts_uniform(1234 + ((uint64_t)1 << 32), 0, TS_DRAW_SAMPLE));
    for (uint64_t i = 0; i < 1000; i++) {
        u = ts_uniform(5, i, TS_DRAW_ACCEPT);
        assert_true(0 <= u && u < 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(output_may_overwrite_the_counter),
        cmocka_unit_test(uniforms_of_the_sampler_golden),
        cmocka_unit_test(purposes_and_positions_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
