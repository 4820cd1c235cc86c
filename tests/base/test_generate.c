#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "num/convert.h"
#include "num/generate.h"
#include "num/philox.h"
#include "num/sha256.h"

enum { MANY = 1 << 16 };
static float many[MANY];

static void generate(const char *spec, uint64_t seed, uint32_t stream, float *y, int64_t n)
{
    ts_error err;
    assert_int_equal(ts_generate(spec, seed, stream, y, n, &err), TS_OK);
}

static void moments(const char *spec, double *mean, double *variance)
{
    generate(spec, 2024, 3, many, MANY);
    double sum = 0, squares = 0;
    for (int i = 0; i < MANY; i++)
        sum += (double)many[i];
    *mean = sum / MANY;
    for (int i = 0; i < MANY; i++)
        squares += ((double)many[i] - *mean) * ((double)many[i] - *mean);
    *variance = squares / MANY;
}

/* Within five standard errors of the distribution's own moments. */
static void expect_moments(const char *spec, double mean, double variance, double kurtosis)
{
    double m, v;
    moments(spec, &m, &v);
    assert_true(fabs(m - mean) < 5 * sqrt(variance / MANY));
    assert_true(fabs(v - variance) < 5 * variance * sqrt((kurtosis - 1) / MANY));
}

static void distributions_are_what_they_say(void **state)
{
    (void)state;
    expect_moments("normal", 0, 1, 2.9); /* 12 uniforms: 3 - 1.2 / 12 */
    expect_moments("normal:0.25", 0, 0.0625, 2.9);
    expect_moments("bf16:2", 0, 4, 2.9);
    expect_moments("uniform:-1:3", 1, 16.0 / 12, 1.8);
    expect_moments("ints:-8:7", -0.5, 255.0 / 12, 1.8);
    expect_moments("pow2:0:1", 0, 2.5, 8.5 / 6.25);
}

/* 16 equal bins of uniform and of ints: chi squared of 15 degrees of freedom. */
static void bins_are_even(void **state)
{
    (void)state;
    static const char *const spec[] = {"uniform:0:16", "ints:0:15"};
    for (int k = 0; k < 2; k++) {
        double chi = 0, expected = MANY / 16.0;
        int bin[16] = {0};
        generate(spec[k], 7, 0, many, MANY);
        for (int i = 0; i < MANY; i++)
            bin[(int)many[i] & 15]++;
        for (int b = 0; b < 16; b++)
            chi += (bin[b] - expected) * (bin[b] - expected) / expected;
        assert_true(chi > 3 && chi < 44); /* one in ten thousand on either side */
    }
}

/* Neighbours, seeds, streams and halves of the seed and index must not be related. */
static void draws_are_independent(void **state)
{
    (void)state;
    static float other[MANY];
    static const struct {
        uint64_t seed;
        uint32_t stream;
    } from[] = {{2024, 4}, {2025, 3}, {2024 + ((uint64_t)1 << 32), 3}};
    for (int k = 0; k < 4; k++) {
        double product = 0;
        generate("normal", 2024, 3, many, MANY);
        if (k < 3)
            generate("normal", from[k].seed, from[k].stream, other, MANY);
        else
            memcpy(other, many + 1, (MANY - 1) * sizeof other[0]);
        for (int i = 0; i < MANY - 1; i++)
            product += (double)many[i] * (double)other[i];
        assert_true(fabs(product / MANY) < 5 / sqrt(MANY));
    }
}

static const char *const all[] = {"normal",
                                  "normal:0.5",
                                  "bf16:3",
                                  "uniform:-1:1",
                                  "const:2",
                                  "ladder:1,2,3",
                                  "ints:-9:9",
                                  "pow2:-3:3",
                                  "index",
                                  "special",
                                  "f16all",
                                  "bf16all",
                                  "bf16ties",
                                  "onehot:7:2:3",
                                  "ulp:1:3",
                                  "runs:4",
                                  "grid:5:1:2",
                                  "put:9:1:normal",
                                  "interleave:normal;const:1"};
enum { ALL = sizeof all / sizeof all[0] };

static void an_element_never_depends_on_the_length(void **state)
{
    (void)state;
    float one[100], two[100];
    for (int k = 0; k < ALL; k++) {
        memset(two, 0, sizeof two);
        generate(all[k], 11, 5, one, 100);
        generate(all[k], 11, 5, two, 37);
        assert_memory_equal(one, two, 37 * sizeof one[0]);
        assert_true(ts_bits(two[37]) == 0); /* and nothing is written past n */
    }
    generate("normal", 1, 1, NULL, 0);
}

/* Each draw recomputed from the documented counters. */
static void draws_come_from_the_documented_counters(void **state)
{
    (void)state;
    const uint64_t seed = 0x123456789abcdef0;
    const uint32_t key[2] = {0x9abcdef0, 0x12345678};
    float normal[50], uniform[50];
    generate("normal", seed, 9, normal, 50);
    generate("uniform:0:1", seed, 0, uniform, 50);
    for (uint32_t i = 0; i < 50; i++) {
        double sum = -6;
        for (uint32_t j = 0; j < 12; j++) {
            uint32_t counter[4] = {3 * i + j / 4, 0, 16, 9}, word[4];
            ts_philox(counter, key, word);
            sum += ldexp(word[j % 4], -32);
        }
        assert_true(normal[i] == (float)sum);
        assert_true(uniform[i] == (float)ts_uniform(seed, i, TS_DRAW_INPUT));
    }
}

static void simple_specs_give_their_values(void **state)
{
    (void)state;
    float y[200], half[200];
    generate("const:-0x1.8p-3", 1, 2, y, 200);
    for (int i = 0; i < 200; i++)
        assert_true(y[i] == -0.1875f);
    generate("ladder:1,-2.5,inf", 1, 2, y, 200);
    for (int i = 0; i < 198; i += 3)
        assert_true(y[i] == 1 && y[i + 1] == -2.5f && y[i + 2] == INFINITY);
    generate("index", 1, 2, y, 200);
    for (int i = 0; i < 200; i++)
        assert_true(y[i] == (float)i);
    generate("normal", 1, 2, y, 200);
    generate("normal:0.5", 1, 2, half, 200);
    for (int i = 0; i < 200; i++)
        assert_true(half[i] == y[i] / 2);
    generate("bf16:0.5", 1, 2, y, 200);
    for (int i = 0; i < 200; i++)
        assert_true(y[i] == ts_bf16_to_f32(ts_f32_to_bf16(half[i])));
}

static void ranges_are_inclusive(void **state)
{
    (void)state;
    int below = 0, above = 0, exponents = 0;
    generate("ints:-2:1", 5, 0, many, MANY);
    for (int i = 0; i < MANY; i++) {
        assert_true(many[i] >= -2 && many[i] <= 1 && many[i] == rintf(many[i]));
        below += many[i] == -2;
        above += many[i] == 1;
    }
    assert_true(below > 0 && above > 0);
    generate("pow2:-149:127", 5, 0, many, MANY);
    for (int i = 0; i < MANY; i++) {
        int e;
        assert_true(fabs(frexp((double)many[i], &e)) == 0.5);
        exponents |= (e - 1 == -149) | (e - 1 == 127) << 1 | (many[i] < 0) << 2 | (many[i] > 0) << 3;
    }
    assert_int_equal(exponents, 15);
}

static void integers_cover_int32(void **state)
{
    (void)state;
    static int32_t n[MANY];
    ts_generate_ints(5, 0, -2, 1, n, MANY);
    generate("ints:-2:1", 5, 0, many, MANY);
    for (int i = 0; i < MANY; i++)
        assert_true((float)n[i] == many[i]);
    ts_generate_ints(5, 0, INT32_MIN, INT32_MAX, n, MANY);
    double sum = 0;
    for (int i = 0; i < MANY; i++)
        sum += n[i];
    assert_true(fabs(sum / MANY) < 5 * 0x1p32 / sqrt(12.0 * MANY));
    ts_generate_ints(5, 0, 77, 77, n, 3);
    assert_true(n[0] == 77 && n[1] == 77 && n[2] == 77);
}

static void special_is_a_cycle_without_nan(void **state)
{
    (void)state;
    enum { CYCLE = 31 };
    float y[3 * CYCLE], next[CYCLE];
    int zeros = 0, subnormals = 0;
    generate("special", 1, 0, y, 3 * CYCLE);
    generate("special", 99, 1, next, CYCLE);
    assert_memory_equal(y, y + CYCLE, CYCLE * sizeof y[0]);
    assert_memory_equal(y + 1, next, CYCLE * sizeof y[0]);
    for (int i = 0; i < CYCLE; i++) {
        assert_true(isfinite(y[i]));
        zeros += y[i] == 0;
        subnormals += y[i] != 0 && fabsf(y[i]) < FLT_MIN;
        for (int j = 0; j < i; j++)
            assert_true(ts_bits(y[i]) != ts_bits(y[j]));
    }
    assert_int_equal(zeros, 2);
    assert_int_equal(subnormals, 5);
}

static void patterns_come_in_order(void **state)
{
    (void)state;
    generate("f16all", 1, 2, many, MANY);
    for (int i = 0; i < MANY; i++)
        assert_true(ts_bits(many[i]) == ts_bits(ts_f16_to_f32((uint16_t)i)));
    assert_true(many[1] == 0x1p-24f && many[0x3ff] == 1023 * 0x1p-24f && isnan(many[0x7c01]));
    generate("bf16all", 1, 2, many, MANY);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(ts_bits(many[i]), (uint32_t)i << 16);
    generate("bf16ties", 1, 2, many, MANY);
    for (int i = 0; i < 0x7f80; i++) {
        double below = (double)ts_bf16_to_f32((uint16_t)i),
               above = i == 0x7f7f ? 0x1p128 : (double)ts_bf16_to_f32((uint16_t)(i + 1));
        assert_true((double)many[i] - below == above - (double)many[i]);
        assert_true(many[i + 0x8000] == -many[i]);
    }
}

static void rows_have_their_shape(void **state)
{
    (void)state;
    float y[60];
    generate("onehot:4:3:-2", 1, 2, y, 60);
    for (int i = 0; i < 60; i++)
        assert_true(y[i] == (i % 4 == (i / 4 + 3) % 4 ? -2.0f : 0.0f));
    generate("grid:6:1:1000", 1, 2, y, 60);
    for (int i = 0; i < 60; i++)
        assert_true(y[i] == (float)(i / 6 + 1000 * (i % 6)));
}

static void neighbours_are_one_ulp_apart(void **state)
{
    (void)state;
    static const char *const spec[] = {"ulp:1:20", "ulp:0:20", "ulp:-0.5:20", "ulp:1.17549435e-38:20"};
    for (int k = 0; k < 4; k++) {
        float y[82];
        generate(spec[k], 1, 2, y, 82);
        for (int i = 1; i < 41; i++)
            assert_true(y[i] == nextafterf(y[i - 1], INFINITY));
        assert_memory_equal(y, y + 41, 41 * sizeof y[0]);
        assert_true(y[20] == strtof(spec[k] + 4, NULL));
    }
}

/* Every run is of one of the six kinds, and every kind comes. */
static void runs_are_of_six_kinds(void **state)
{
    (void)state;
    int seen = 0;
    generate("runs:8", 3, 1, many, 16 * 400);
    for (int r = 0; r < 400; r++) {
        int zero = 1, max = 1, low = 1, high = 1, turn = 1;
        for (int i = 16 * r; i < 16 * r + 16; i++) {
            float x = many[i];
            zero &= x == 0;
            max &= x == 8;
            low &= fabsf(x) <= 8 / 256.0f;
            high &= fabsf(x) >= 6 && fabsf(x) <= 8;
            turn &= x == (i % 2 ? -8 : 8);
            assert_true(fabsf(x) <= 8);
        }
        seen |= zero ? 1 : max ? 2 : turn ? 4 : low ? 8 : high ? 16 : 32;
    }
    assert_int_equal(seen, 63);
}

static void compounds_are_made_of_their_parts(void **state)
{
    (void)state;
    float y[50], a[50], b[50];
    generate("interleave:normal:2;ladder:1,2,3", 5, 6, y, 50);
    generate("normal:2", 5, 6, a, 50);
    generate("ladder:1,2,3", 5, 6, b, 50);
    for (int i = 0; i < 50; i++)
        assert_true(y[i] == (i % 2 ? b[i] : a[i]));
    generate("put:7:nan:put:49:-inf:put:50:3:normal:2", 5, 6, y, 50);
    for (int i = 0; i < 50; i++)
        assert_true(i == 7 ? isnan(y[i]) : i == 49 ? y[i] == -INFINITY : y[i] == a[i]);
}

static void bad_specs_are_named(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "gauss",
        "norma",
        "normals",
        "Normal",
        "normal:",
        "normal:x",
        "normal:1:2",
        "normal:1e38",
        "normal:nan",
        "normal:1 ",
        "normal: 1",
        "normal:1,",
        "bf16",
        "bf16:",
        "bf16:inf",
        "uniform",
        "uniform:1",
        "uniform:1:2:3",
        "uniform:2:1",
        "uniform:0:inf",
        "uniform:0:1e39",
        "const",
        "const:",
        "const:1:2",
        "const:nan",
        "const:1e400",
        "const:1x",
        "ladder",
        "ladder:",
        "ladder:1,",
        "ladder:,1",
        "ladder:1,,2",
        "ladder:1:2",
        "ladder:1;2",
        "ints:0",
        "ints:1.5:2",
        "ints:3:2",
        "ints:0:16777217",
        "ints:nan:1",
        "pow2:-150:0",
        "pow2:0:128",
        "pow2:0:0.5",
        "index:1",
        "index:",
        "special:",
        "special:1",
        " normal",
        "f16all:1",
        "onehot:4:4:1",
        "onehot:0:0:1",
        "onehot:4:1",
        "grid:0:1:1",
        "grid:2:1.5:1",
        "grid:2:16777217:0",
        "ulp:1:0",
        "ulp:1:1.5",
        "ulp:inf:1",
        "ulp:3.4028234e38:4",
        "runs:0",
        "runs:inf",
        "put:",
        "put:1",
        "put:-1:0:normal",
        "put:x:0:normal",
        "put:1:0",
        "put:1:0:",
        "put:1:nanny:normal",
        "put:1:0:gauss",
        "interleave:normal",
        "interleave:normal;",
        "interleave:normal;gauss",
        "interleave:put:1:1:normal;normal",
    };
    float y[4];
    ts_error err;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (ts_generate(bad[i], 1, 1, y, 4, &err) != TS_BAD)
            fail_msg("\"%s\" was accepted", bad[i]);
        assert_non_null(strstr(err.reason, bad[i]));
    }
    assert_int_equal(ts_generate("index", 1, 1, NULL, (1 << 24) + 2, &err), TS_BAD);
}

static void compounds_end(void **state)
{
    (void)state;
    static char spec[1 << 20];
    float y[2];
    for (size_t i = 0; i + 20 < sizeof spec; i += 8)
        memcpy(spec + i, "put:1:0:", 8);
    assert_int_equal(ts_generate(spec, 1, 1, y, 2, NULL), TS_BAD);
}

static void a_ladder_has_at_most_64_values(void **state)
{
    (void)state;
    char spec[300] = "ladder:0";
    float y[65];
    ts_error err;
    for (int i = 1; i < 64; i++)
        strcat(spec, ",7");
    generate(spec, 1, 1, y, 65);
    assert_true(y[0] == 0 && y[63] == 7 && y[64] == 0);
    strcat(spec, ",7");
    assert_int_equal(ts_generate(spec, 1, 1, y, 65, &err), TS_BAD);
    assert_non_null(strstr(err.reason, "64"));
}

/* Every golden made from generated inputs rests on these bits. */
static void the_generator_never_drifts(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *sha256;
    } fixed[] = {
        {"normal", "04eb90849b7074470b73e2620ff4ac997c75b413c519b366471d7c6bc895e139"},
        {"bf16:0.125", "22ff4aaaba2426527e2b7985814c884c7446ade38c8ab284cf60cfb085f45149"},
        {"uniform:-1:1", "a43e3076c2a555001b73bcfad26cc2552e5ee0d2562027438b0623595adc50a8"},
        {"ints:-7:7", "7e93e4928e420b49815a19e938b7a15af5120ef8f754a207be64e487499bcaa4"},
        {"pow2:-6:6", "49585798e264878fdc67abe891039b01e8c7dc1f833ed376b0360b78a624a031"},
        {"runs:8", "759ae3edf08dae374e131ee5c7ab560e522ab61fe39c9229c134d502c0045503"},
        {"special", "3cd3d968fddbf8b8e6bd2079eacd3aa42d4f374fb770c550f6e4679c346ec979"},
    };
    char hex[TS_SHA256_HEX];
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        generate(fixed[i].spec, 0x0123456789abcdef, 2, many, 4099);
        ts_sha256(many, 4099 * sizeof many[0], hex);
        assert_string_equal(hex, fixed[i].sha256);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distributions_are_what_they_say),
        cmocka_unit_test(bins_are_even),
        cmocka_unit_test(draws_are_independent),
        cmocka_unit_test(an_element_never_depends_on_the_length),
        cmocka_unit_test(draws_come_from_the_documented_counters),
        cmocka_unit_test(simple_specs_give_their_values),
        cmocka_unit_test(ranges_are_inclusive),
        cmocka_unit_test(integers_cover_int32),
        cmocka_unit_test(special_is_a_cycle_without_nan),
        cmocka_unit_test(patterns_come_in_order),
        cmocka_unit_test(rows_have_their_shape),
        cmocka_unit_test(neighbours_are_one_ulp_apart),
        cmocka_unit_test(runs_are_of_six_kinds),
        cmocka_unit_test(compounds_are_made_of_their_parts),
        cmocka_unit_test(bad_specs_are_named),
        cmocka_unit_test(compounds_end),
        cmocka_unit_test(a_ladder_has_at_most_64_values),
        cmocka_unit_test(the_generator_never_drifts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
