/* touchstone stats on records as they come: broken, uneven, of other widths, too few, very many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <time.h>

#include "base/scratch.h"
#include "format/json.h"
#include "tool.h"
#include "tools/capture.h"
#include "tools/stats_made.h"
#include "stats/tails.h"

static ts_stat_record record_of(int rounds, int first_n, int k, int a)
{
    ts_stat_record s = {.path = "made"};
    for (int i = 0; i < rounds; i++) {
        ts_stat_round r = made(k, a, a + 1);
        r.n = first_n + i;
        assert_int_equal(ts_stat_add(&s, &r, "", NULL), TS_OK);
    }
    return s;
}

static void release(ts_stat_record *a, ts_stat_record *b)
{
    ts_stat_free(a);
    ts_stat_free(b);
}

/* Rounds that are all alike have no spread. A handful shows nothing, 1 / C(12, 6) at the best; 20 do. */
static void no_spread(void **state)
{
    (void)state;
    static const struct {
        int rounds;
        double p;
        bool alarm;
    } cases[] = {{1, 1.0, false},
                 {3, 0.1, false},
                 {4, 2.0 / 70, false},
                 {6, 2.0 / 924, true},
                 {20, 2.0 / 137846528820, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ts_stat_record a = record_of(cases[i].rounds, 0, 3, 2), b = record_of(cases[i].rounds, 100, 3, 3);
        ts_match m = compare(&a, &b, 0.01);
        assert_true(m.level == TS_MATCH_FREE && !m.estimated && m.difference == 1.0);
        assert_true(fabs(m.p - cases[i].p) < 0.03 * cases[i].p && m.alarm == cases[i].alarm);
        release(&a, &b);
    }
}

/* Of two prompts with the same difference in both, no more can be said than that two records were in that order. */
static void no_spread_over_prompts(void **state)
{
    (void)state;
    ts_stat_record r[2] = {{.path = "a"}, {.path = "b"}};
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < 60; i++) {
            ts_stat_round x = made(3, (i % 3 == 0) + side, 2);
            x.n = 1000 * side + i;
            assert_int_equal(ts_stat_add(&r[side], &x, i < 30 ? "p" : "q", NULL), TS_OK);
        }
    ts_match m = compare(&r[0], &r[1], 0.01);
    assert_true(m.clusters == 2 && !m.estimated && m.p == 0.5);
    release(&r[0], &r[1]);
}

/* Equal laws prompt by prompt, but the second record is short of rounds of the prompts that go best: no alarms
 * beyond alpha, as in no_false_alarms. And hazards 3 % lower are still seen. */
static void uneven_prompts(void **state)
{
    (void)state;
    int alarms = 0, seen = 0;
    for (uint64_t pair = 0; pair < 200; pair++) {
        ts_stat_record r[2] = {{.path = "a"}, {.path = "b"}};
        bool worse = pair >= 100;
        for (uint64_t side = 0; side < 2; side++)
            for (int p = 0; p < 12; p++)
                for (int i = 0; i < (side && p > 8 ? 240 : 1200); i++) {
                    double h = (0.5 + 0.04 * p) * (worse && side ? 0.97 : 1.0);
                    int a = draw_a(2 * pair + side, (uint64_t)(p * 1200 + i), 7, h);
                    char name[16];
                    snprintf(name, sizeof name, "p%d", p);
                    ts_stat_round x = made(7, a, a + 1);
                    x.n = (int64_t)(side * 1000000) + i;
                    assert_int_equal(ts_stat_add(&r[side], &x, name, NULL), TS_OK);
                }
        ts_match m = compare(&r[0], &r[1], 0.01);
        assert_true(m.clusters == 12 && m.compared[0] == 14400 && m.compared[1] == 11520);
        alarms += !worse && m.alarm;
        seen += worse && m.alarm;
        release(&r[0], &r[1]);
    }
    print_message("  %d alarms of 100, hazards 3 %% lower seen %d of 100\n", alarms, seen);
    assert_true(ts_binomial_tail((uint64_t)alarms, 100, 0.01) > 1e-4 && seen > 90);
}

/* Rounds of another k are of another law: only like is compared, and if there is none it is an error. */
static void other_widths(void **state)
{
    (void)state;
    double h = 0.8;
    ts_stat_record a = synthetic(1, 400, 3, &h, 1), b = synthetic(2, 400, 7, &h, 1), none = record_of(5, 0, 0, 0);
    ts_match m;
    ts_error err = {0};
    assert_int_equal(ts_match_records(&a, &b, 0.01, (double)NAN, &m, &err), TS_BAD);
    assert_non_null(strstr(err.reason, "nothing to compare"));
    assert_int_equal(ts_match_records(&none, &a, 0.01, (double)NAN, &m, &err), TS_BAD);
    for (int i = 0; i < 300; i++) {
        ts_stat_round x = made(3, draw_a(3, (uint64_t)i, 3, h), 1);
        x.n = 9000000 + i;
        assert_int_equal(ts_stat_add(&b, &x, "p0", NULL), TS_OK);
    }
    m = compare(&a, &b, 0.01);
    assert_true(!m.alarm && m.compared[0] == 400 && m.compared[1] == 300 && m.parts == 3);
    release(&a, &b);
    ts_stat_free(&none);
}

/* Every k up to the largest, each with its own hazards: no part is lost. */
static void all_widths(void **state)
{
    (void)state;
    ts_stat_record r[2] = {{.path = "a"}, {.path = "b"}};
    for (uint64_t side = 0; side < 2; side++)
        for (int k = 1; k <= TS_MAX_DRAFT; k++)
            for (int i = 0; i < 50 * (k + 1); i++) {
                ts_stat_round x = made(k, i % (k + 1), 1);
                x.n = (int64_t)(side * 1000000) + 10000 * k + i;
                assert_int_equal(ts_stat_add(&r[side], &x, "", NULL), TS_OK);
            }
    ts_match m = compare(&r[0], &r[1], 0.01);
    assert_true(m.parts == TS_MAX_PARTS && m.G_df == TS_MAX_PARTS && fabs(m.G) < 1e-6 && m.part[527].k == 32);
    release(&r[0], &r[1]);
}

/* As many prompts as rounds: names are found without going through all of them. A quadratic search would be at it
 * for minutes; the time of 20,000 bounds that of 200,000, tenfold and some. */
static void very_many_prompts(void **state)
{
    (void)state;
    double seconds[2];
    for (int big = 0; big < 2; big++) {
        ts_stat_record r[2] = {{.path = "a"}, {.path = "b"}};
        int prompts = big ? 200000 : 20000;
        clock_t start = clock();
        for (int side = 0; side < 2; side++)
            for (int i = 0; i < prompts; i++) {
                char name[32];
                snprintf(name, sizeof name, "prompt %d", i);
                ts_stat_round x = made(3, draw_a((uint64_t)side, (uint64_t)i, 3, 0.8), 1);
                x.n = side * 10 + i;
                assert_int_equal(ts_stat_add(&r[side], &x, name, NULL), TS_OK);
            }
        ts_match m = compare(&r[0], &r[1], 0.01);
        seconds[big] = (double)(clock() - start) / CLOCKS_PER_SEC;
        assert_true(m.clusters == (size_t)prompts && !m.alarm && m.parts == 3);
        release(&r[0], &r[1]);
    }
    print_message("  %.2f s, %.2f s\n", seconds[0], seconds[1]);
    assert_true(seconds[1] < 40 * seconds[0] + 1);
}

#define HEAD "{\"schema\":1,\"n\":1,\"anchor\":1,\"draft\":[5]"
#define DONE "\"a\":1,\"final\":9}"

/* What is no record: where, and why. */
static void broken(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", "has none"},
        {"\n", "r.jsonl:1: not JSON"},
        {"\x80\xff\x01\n", "r.jsonl:1: unexpected character"},
        {HEAD "," DONE "\n" HEAD ",\"a\":1,\"fi", "r.jsonl:2: unterminated string"},
        {HEAD ",\"a\":-1,\"final\":9}", "a: -1 is outside 0..1"},
        {HEAD ",\"a\":1,\"a\":0,\"final\":9}", "a: duplicate key"},
        {HEAD ",\"final\":9}", "a: missing"},
        {HEAD ",\"k\":7," DONE, "k: 7 is outside 1..1"},
        {HEAD ",\"u\":[NaN],\"p_d\":[0.5]," DONE, "unexpected character"},
        {HEAD ",\"u\":[0.5],\"u_hex\":[\"7ff8000000000000\"],\"p_d\":[0.5]," DONE, "its bits are not those of 0.5"},
        {HEAD ",\"u\":[1e999],\"p_d\":[0.5]," DONE, "u: has what is no number"},
        {HEAD ",\"prompt\":\"\\u001b[2J\"," DONE, "prompt: has a control character"},
        {"[{\"rounds\":[" HEAD "," DONE "]}]", "r.jsonl:1: is no JSON object"},
    };
    static capture c;
    char path[FOLDER_PATH];
    folder_file(&dir, "r.jsonl", path);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(ts_write_file(path, cases[i].text, strlen(cases[i].text), NULL), TS_OK);
        assert_int_equal(capture_run(&c, ts_cmd_stats, "stats", path, NULL), TS_BAD);
        if (!strstr(c.err, cases[i].want))
            fail_msg("%s, expected %s", c.err, cases[i].want);
    }
    folder_file(&dir, "list.json", path);
    const char *list = cases[sizeof cases / sizeof *cases - 1].text;
    assert_int_equal(ts_write_file(path, list, strlen(list), NULL), TS_OK);
    assert_int_equal(capture_run(&c, ts_cmd_stats, "stats", path, NULL), TS_BAD);
    assert_non_null(strstr(c.err, "is no JSON object"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_spread),      cmocka_unit_test(no_spread_over_prompts),
        cmocka_unit_test(other_widths),   cmocka_unit_test(all_widths),
        cmocka_unit_test(broken),         cmocka_unit_test(very_many_prompts),
        cmocka_unit_test(uneven_prompts),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
