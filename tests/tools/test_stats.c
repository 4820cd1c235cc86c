/* touchstone stats: definitions, tails, the ladder of comparisons, its power and its false alarms. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/scratch.h"
#include "format/json.h"
#include "stats/report.h"
#include "stats/tails.h"
#include "tool.h"
#include "tools/capture.h"
#include "tools/stats_made.h"

static void close_to(double got, double want, double relative)
{
    if (!(fabs(got - want) <= relative * fabs(want)))
        fail_msg("%.17g, want %.17g", got, want);
}

/* Closed forms: chi-square of 1, 2 and 4 degrees of freedom, Student's t of 1 and 2, small binomials. */
static void tails(void **state)
{
    (void)state;
    for (double x = 0.01; x < 300.0; x *= 1.3) {
        close_to(ts_chi2_tail(x, 1), erfc(sqrt(x / 2)), 1e-12);
        close_to(ts_chi2_tail(x, 2), exp(-x / 2), 1e-12);
        close_to(ts_chi2_tail(x, 4), exp(-x / 2) * (1 + x / 2), 1e-12);
        close_to(ts_student_two_sided(x, 1), 1 - 2 / 3.14159265358979323846 * atan(x), 1e-9);
        close_to(ts_student_two_sided(x, 2), 1 - x / sqrt(2 + x * x), 1e-9);
    }
    assert_true(ts_chi2_tail(0, 3) == 1.0);
    close_to(ts_normal_quantile(0.975), 1.9599639845400545, 1e-12);
    close_to(ts_student_quantile(0.05, 1e7), 1.9599639845400545, 1e-6);
    close_to(ts_student_quantile(0.01, 3), 5.840909309733356, 1e-9);
    close_to(ts_sign_two_sided(10, 0), 2.0 / 1024, 1e-12);
    close_to(ts_sign_two_sided(0, 12), 2.0 / 4096, 1e-12);
    assert_true(ts_sign_two_sided(5, 5) == 1.0 && ts_sign_two_sided(0, 0) == 1.0);
    close_to(ts_binomial_tail(2, 3, 0.25), 3 * 0.0625 * 0.75 + 0.015625, 1e-12);
    assert_true(ts_binomial_tail(0, 3, 0.25) == 1.0 && ts_binomial_tail(4, 3, 0.25) == 0.0);
}

/* By hand: (k, a, emitted) = (3,3,4), (3,0,1), (3,2,1: cut at a stop id), (0,0,1), (2,1,2). */
static void definitions(void **state)
{
    (void)state;
    static const int rows[5][3] = {{3, 3, 4}, {3, 0, 1}, {3, 2, 1}, {0, 0, 1}, {2, 1, 2}};
    ts_counts c = {0};
    for (int i = 0; i < 5; i++) {
        ts_stat_round r = made(rows[i][0], rows[i][1], rows[i][2]);
        ts_count_round(&r, &c);
    }
    assert_true(c.rounds == 5 && c.drafting == 4 && c.proposed == 11 && c.accepted == 6 && c.tested == 9);
    assert_true(c.emitted == 9 && c.kept_slots == 9 && c.slots == 16 && c.squares == 14 && c.max_k == 3);
    static const uint64_t hist[] = {2, 1, 1, 1}, reached[] = {0, 3, 2, 1}, offered[] = {0, 4, 3, 2};
    for (int i = 0; i < 4; i++)
        assert_true(c.hist[i] == hist[i] && c.reached[i] == reached[i] && c.offered[i] == offered[i]);
    ts_stat_record record = {.path = "x", .prompts = {.n = 1}};
    ts_stat_side side = {&record, c};
    cJSON *o = ts_stat_json(&side), *rate = cJSON_GetObjectItem(o, "acceptance"),
          *tau = cJSON_GetObjectItem(o, "tau");
    assert_true(cJSON_GetObjectItem(rate, "vllm")->valuedouble == 6.0 / 11);
    assert_true(cJSON_GetObjectItem(rate, "llama.cpp")->valuedouble == 6.0 / 11);
    assert_true(cJSON_GetObjectItem(rate, "lse")->valuedouble == 6.0 / 9);
    assert_true(cJSON_GetObjectItem(rate, "lucebox")->valuedouble == 9.0 / 16);
    assert_true(cJSON_GetObjectItem(tau, "vllm")->valuedouble == 1 + 6.0 / 4);
    assert_true(cJSON_GetObjectItem(tau, "llama.cpp")->valuedouble == 1 + 6.0 / 5);
    assert_true(cJSON_GetObjectItem(tau, "z-lab")->valuedouble == 9.0 / 5);
    cJSON_Delete(o);
}

static void flags(void **state)
{
    (void)state;
    ts_counts never = {.proposed = 9}, always = {.proposed = 9, .accepted = 9},
              some = {.proposed = 9, .accepted = 8}, none = {0};
    assert_non_null(strstr(ts_stat_flag(&never), "exactly 0"));
    assert_non_null(strstr(ts_stat_flag(&always), "exactly 1"));
    assert_true(!ts_stat_flag(&some) && !ts_stat_flag(&none));
}

static double mean_of(double h, int k)
{
    double mean = 0.0;
    for (int i = 1; i <= k; i++)
        mean += pow(h, i);
    return mean;
}

static double variance_of(double h, int k)
{
    double squares = 0.0;
    for (int i = 1; i <= k; i++)
        squares += (2 * i - 1) * pow(h, i);
    return squares - mean_of(h, k) * mean_of(h, k);
}

static double hazard_for(double mean, int k)
{
    double lo = 0.0, hi = 1.0;
    for (int i = 0; i < 60; i++) {
        double mid = 0.5 * (lo + hi);
        if (mean_of(mid, k) < mean)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

enum { ROUNDS = 15000 };

/* Two laws whose means are 2 % apart: seen at least as often as the tool says it would be, which is what the theory
 * says. alpha = 0.01, 100 pairs; the count may fall short by chance with probability 1e-4. */
static void a_shift_is_seen(void **state)
{
    (void)state;
    static const struct {
        int k;
        double rate, least_power;
    } law[] = {{3, 0.81, 0.9}, {7, 0.76, 0.85}};
    for (int l = 0; l < 2; l++) {
        int k = law[l].k, seen = 0, pairs = 100;
        double mean = k * law[l].rate, h = hazard_for(mean, k), lower = hazard_for(0.98 * mean, k), power = 0.0;
        double d = 0.02 * mean, error = sqrt((variance_of(h, k) + variance_of(lower, k)) / ROUNDS);
        double theory = ts_normal_cdf(d / error - ts_normal_quantile(1 - 0.8 * 0.01 / 2));
        for (int i = 0; i < pairs; i++) {
            ts_stat_record a = synthetic((uint64_t)(1000 + 2 * i), ROUNDS, k, &h, 1),
                           b = synthetic((uint64_t)(1001 + 2 * i), ROUNDS, k, &lower, 1);
            ts_match m = compare(&a, &b, 0.01);
            assert_true(m.level == TS_MATCH_FREE && m.clusters == 0);
            seen += m.alarm;
            power += m.power / pairs;
            ts_stat_free(&a);
            ts_stat_free(&b);
        }
        print_message("  k %d: seen %d of %d, stated %.3f, theory %.3f\n", k, seen, pairs, power, theory);
        assert_true(fabs(power - theory) < 0.02 && power > law[l].least_power);
        assert_true(ts_binomial_tail((uint64_t)(pairs - seen), (uint64_t)pairs, 1 - power) > 1e-4);
    }
}

/* 100 pairs of one law: no more alarms at alpha = 0.01 than chance allows with probability 1e-4, which is 6. Of one
 * prompt; and of 12 prompts that differ far more than any kernel makes them, where rounds are not independent. */
static void no_false_alarms(void **state)
{
    (void)state;
    double prompts[12], one[1] = {0.9};
    for (int i = 0; i < 12; i++)
        prompts[i] = 0.5 + 0.04 * i;
    for (int what = 0; what < 3; what++) {
        int k = what == 0 ? 3 : 7, alarms = 0;
        for (int i = 0; i < 100; i++) {
            const double *h = what == 2 ? prompts : one;
            int n = what == 2 ? 12 : 1;
            ts_stat_record a = synthetic((uint64_t)(5000 + 2 * i), ROUNDS, k, h, n),
                           b = synthetic((uint64_t)(5001 + 2 * i), ROUNDS, k, h, n);
            ts_match m = compare(&a, &b, 0.01);
            assert_int_equal(m.clusters, n > 1 ? n : 0);
            alarms += m.alarm;
            ts_stat_free(&a);
            ts_stat_free(&b);
        }
        print_message("  k %d, %s: %d alarms of 100\n", k, what == 2 ? "12 prompts" : "one prompt", alarms);
        assert_true(ts_binomial_tail((uint64_t)alarms, 100, 0.01) > 1e-4);
    }
}

/* The rounds that a test on the mean takes: 2 Var(a) (z_{1-alpha/2} + z_{0.9})^2 / d^2, with four fifths of alpha.
 */
static void sample_sizes(void **state)
{
    (void)state;
    static const double alphas[] = {0.0125, 0.00125};
    for (int k = 3; k <= 7; k += 4)
        for (int i = 0; i < 2; i++) {
            double mean = k == 3 ? 3 * 0.81 : 7 * 0.76, h = hazard_for(mean, k), d = 0.02 * mean;
            double z = ts_normal_quantile(1 - 0.8 * alphas[i] / 2) + ts_normal_quantile(0.9);
            ts_stat_record a = synthetic(3, ROUNDS, k, &h, 1), b = synthetic(4, ROUNDS, k, &h, 1);
            ts_match m = compare(&a, &b, alphas[i]);
            print_message("  k %d, alpha %g: %.0f rounds\n", k, 0.8 * alphas[i], m.rounds_each);
            close_to(m.rounds_each, 2 * variance_of(h, k) * z * z / (d * d), 0.06);
            ts_stat_free(&a);
            ts_stat_free(&b);
        }
}

/* G of the whole table, cells pooled as the parts say, is the sum of the parts; and pooling leaves no small cell.
 */
static void parts_add_up(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        int k = 1 + i % 9;
        double h[2] = {0.2 + 0.015 * i, 0.25 + 0.013 * i};
        ts_stat_record a = synthetic((uint64_t)(2 * i), 300, k, &h[0], 1),
                       b = synthetic((uint64_t)(2 * i + 1), 500, k, &h[1], 1);
        ts_match m = compare(&a, &b, 0.01);
        ts_counts c[2] = {ts_count(&a), ts_count(&b)};
        double G = 0.0, n[2] = {300, 500};
        for (int p = 0, lo = 0; p <= m.parts; p++) {
            int hi = p < m.parts ? m.part[p].hi : k;
            double cell[2] = {0};
            for (int x = lo; x <= hi; x++)
                for (int r = 0; r < 2; r++)
                    cell[r] += (double)c[r].hist[x];
            for (int r = 0; r < 2; r++) {
                double expected = (cell[0] + cell[1]) * n[r] / 800;
                assert_true(expected >= 5.0);
                G += cell[r] > 0 ? 2 * cell[r] * log(cell[r] / expected) : 0;
            }
            lo = hi + 1;
        }
        assert_true(fabs(G - m.G) < 1e-9 && m.G_df == m.parts);
        ts_stat_free(&a);
        ts_stat_free(&b);
    }
}

/* A hazard that is wrong at one position shows there; the mean alone would hide that it is made up for elsewhere.
 */
static void a_position_is_named(void **state)
{
    (void)state;
    double h = 0.8;
    ts_stat_record a = synthetic(1, ROUNDS, 3, &h, 1), b = {.path = "b"};
    for (size_t i = 0; i < ROUNDS; i++) {
        static const double hazard[] = {0.8, 0.7, 0.98};
        int at = 0;
        while (at < 3 && ts_uniform(9, 32 * i + (uint64_t)at, TS_DRAW_INPUT) < hazard[at])
            at++;
        ts_stat_round r = made(3, at, at + 1);
        r.n = (int64_t)i;
        assert_int_equal(ts_stat_add(&b, &r, "p0", NULL), TS_OK);
    }
    ts_match m = compare(&a, &b, 0.01);
    assert_true(m.alarm && m.parts == 3 && m.part[0].p > 0.05 && m.part[1].p < 1e-6 && m.part[2].p < 1e-6);
    ts_stat_free(&a);
    ts_stat_free(&b);
}

/* `count` rounds at the same prefixes; in the first `more` b accepts one more, in the next `fewer` one fewer. */
static void forced(ts_stat_record *a, ts_stat_record *b, int count, int more, int fewer)
{
    *a = (ts_stat_record){.path = "a"};
    *b = (ts_stat_record){.path = "b"};
    for (int i = 0; i < count; i++) {
        ts_stat_round r = made(3, 1, 2);
        r.n = 4 * i;
        r.slack = i < 12 ? 1e-7 : 0.1;
        assert_int_equal(ts_stat_add(a, &r, "", NULL), TS_OK);
        r.a += i < more ? 1 : i < more + fewer ? -1 : 0;
        assert_int_equal(ts_stat_add(b, &r, "", NULL), TS_OK);
    }
}

static void teacher_forced(void **state)
{
    (void)state;
    static const struct {
        int more, fewer;
        double near;
        bool alarm;
    } cases[] = {
        {0, 0, (double)NAN, false}, {10, 0, (double)NAN, true},  {0, 10, (double)NAN, true},
        {7, 0, (double)NAN, false}, {10, 8, (double)NAN, false}, {6, 6, 1e-6, false},
        {7, 6, 1e-6, true},         {3, 2, 1e-8, true},          {3, 2, 0.5, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ts_stat_record a, b;
        ts_match m;
        ts_error err = {0};
        forced(&a, &b, 500, cases[i].more, cases[i].fewer);
        assert_int_equal(ts_match_records(&a, &b, 0.01, cases[i].near, &m, &err), TS_OK);
        bool same = cases[i].more + cases[i].fewer == 0;
        assert_int_equal(m.level, same ? TS_MATCH_EXACT : TS_MATCH_PAIRED);
        assert_true(m.alarm == cases[i].alarm && m.more == (uint64_t)cases[i].more &&
                    m.fewer == (uint64_t)cases[i].fewer);
        if (!same)
            assert_true(strcmp(m.what, "a") == 0 && m.first == 0 && m.splits == m.more + m.fewer);
        a.round[3].slack = (double)INFINITY;
        if (!same)
            assert_int_equal(ts_match_records(&a, &b, 0.01, 0.5, &m, &err), TS_BAD);
        ts_stat_free(&a);
        ts_stat_free(&b);
    }
}

/* Each member of the tuple counts, and the first difference is named. */
static void tuples(void **state)
{
    (void)state;
    static const char *const what[] = {"n", "anchor", "draft", "a", "final", "prompt", "k", "rounds"};
    for (int i = 0; i < 8; i++) {
        ts_stat_record a, b;
        forced(&a, &b, 20, 0, 0);
        ts_stat_round *r = &b.round[7];
        r->n += i == 0;
        r->anchor += i == 1;
        r->draft[2] += i == 2;
        r->a += i == 3;
        r->final += i == 4;
        if (i == 5) {
            assert_int_equal(ts_stat_add(&a, &a.round[0], "other", NULL), TS_OK);
            assert_int_equal(ts_stat_add(&b, &a.round[0], "other", NULL), TS_OK);
            r->prompt = 1;
        }
        r->k -= i == 6;
        b.n -= i == 7;
        ts_match m = compare(&a, &b, 0.01);
        assert_string_equal(m.what, what[i]);
        assert_int_equal(m.first, i == 7 ? 19 : 7);
        assert_int_equal(m.level, i >= 2 && i <= 4 ? TS_MATCH_PAIRED : TS_MATCH_FREE);
        assert_true(m.level == TS_MATCH_FREE ||
                    (m.drafted[3] == 20 && m.agreed[3] == 20 - (i == 2) && m.agreed[1] == 20));
        ts_stat_free(&a);
        ts_stat_free(&b);
    }
}

static void prompts_must_pair(void **state)
{
    (void)state;
    double h[2] = {0.5, 0.6};
    ts_stat_record a = synthetic(1, 100, 3, h, 2), b = synthetic(2, 100, 3, h, 1);
    ts_match m;
    ts_error err = {0};
    assert_int_equal(ts_match_records(&a, &b, 0.01, (double)NAN, &m, &err), TS_BAD);
    assert_non_null(strstr(err.reason, "'p1' has rounds only in"));
    assert_int_equal(ts_match_records(&b, &a, 0.01, (double)NAN, &m, &err), TS_BAD);
    ts_stat_free(&a);
    ts_stat_free(&b);
}

#define ROUND(n, a) "{\"schema\":1,\"n\":" #n ",\"anchor\":1,\"draft\":[5,6,7],\"a\":" #a ",\"final\":9}\n"

static void put(const char *name, const char *text, char path[FOLDER_PATH])
{
    folder_file(&dir, name, path);
    assert_int_equal(ts_write_file(path, text, strlen(text), NULL), TS_OK);
}

static capture c;

static void command(void **state)
{
    (void)state;
    char a[FOLDER_PATH], b[FOLDER_PATH], zero[FOLDER_PATH], bad[FOLDER_PATH], svg[FOLDER_PATH];
    put("a.jsonl", ROUND(4, 1) ROUND(6, 2), a);
    put("b.jsonl", ROUND(4, 1) ROUND(6, 3), b);
    put("<zero>.jsonl", ROUND(4, 0) ROUND(5, 0), zero);
    put("bad.jsonl", ROUND(4, 1) ROUND(6, 4), bad);
    assert_int_equal(capture_run(&c, ts_cmd_stats, "stats", a, NULL), TS_OK);
    assert_true(strstr(c.out, "3 / 6") && strstr(c.out, "2 rounds") && !strstr(c.out, "SUSPICIOUS"));
    assert_int_equal(capture_run(&c, ts_cmd_stats, "stats", a, a, NULL), TS_OK);
    assert_non_null(strstr(c.out, "\nSAME\n"));
    assert_int_equal(capture_run(&c, ts_cmd_stats, "stats", a, b, NULL), TS_OK);
    assert_true(strstr(c.out, "round 1") && strstr(c.out, "\nNO DIFFERENCE SEEN\n"));
    assert_int_equal(capture_run(&c, ts_cmd_stats, "stats", a, b, "--exact", NULL), TS_DIFFERS);
    assert_int_equal(capture_run(&c, ts_cmd_stats, "stats", zero, "--plot", folder_file(&dir, "p.svg", svg), NULL),
                     TS_OK);
    assert_non_null(strstr(c.out, "SUSPICIOUS: acceptance is exactly 0"));
    assert_int_equal(capture_run(&c, ts_cmd_stats, "stats", bad, NULL), TS_BAD);
    assert_non_null(strstr(c.err, "bad.jsonl:2: a: 4 is outside 0..3"));
    assert_int_equal(capture_run(&c, ts_cmd_stats, "stats", NULL), TS_USAGE);
    assert_int_equal(capture_run(&c, ts_cmd_stats, "stats", a, b, a, NULL), TS_USAGE);
    assert_int_equal(capture_run(&c, ts_cmd_stats, "stats", a, "--exact", NULL), TS_USAGE);
    assert_int_equal(capture_run(&c, ts_cmd_stats, "stats", a, b, "--alpha", "1.5", NULL), TS_USAGE);
    assert_int_equal(capture_run(&c, ts_cmd_stats, "stats", a, b, "--near", "0", NULL), TS_USAGE);
    assert_int_equal(capture_run(&c, ts_cmd_stats, "stats", a, "--plot", "/none/p.svg", NULL), TS_BAD);
}

static void plot(void **state)
{
    (void)state;
    char path[FOLDER_PATH], *text = NULL;
    size_t size = 0;
    folder_file(&dir, "two.svg", path);
    assert_int_equal(capture_run(&c, ts_cmd_stats, "stats", "golden/external/spec-greedy-mtp3.json",
                                 "golden/external/spec-greedy-dflash3.json", "--plot", path, NULL),
                     TS_OK);
    assert_int_equal(ts_read_file(path, &text, &size, NULL), TS_OK);
    assert_true(strncmp(text, "<svg ", 5) == 0 && strstr(text, "</svg>\n"));
    int polygons = 0, bars = 0;
    for (const char *p = text; (p = strstr(p, "<polygon")) != NULL; p++)
        polygons++;
    for (const char *p = text; (p = strstr(p, "fill-opacity='0.7'")) != NULL; p++)
        bars++;
    assert_true(polygons == 2 && bars == 8 && !strstr(text, "nan"));
    free(text);
    folder_file(&dir, "p.svg", path);
    assert_int_equal(ts_read_file(path, &text, &size, NULL), TS_OK);
    assert_non_null(strstr(text, "&lt;zero>.jsonl"));
    free(text);
}

/* The goldens' own totals. */
static void totals_of_goldens(void **state)
{
    (void)state;
    static const char *const files[] = {"golden/external/spec-ratio-mtp3.json",
                                        "golden/external/spec-ratio-dflash7.json",
                                        "golden/external/spec-greedy-dflash7.json"};
    for (int i = 0; i < 3; i++) {
        cJSON *root = NULL, *mine = NULL, *one;
        double proposed = 0, accepted = 0;
        assert_int_equal(ts_json_load(files[i], &root, NULL), TS_OK);
        cJSON *cases = cJSON_GetObjectItem(root, "cases"), *all = cases ? cases : root;
        cJSON_ArrayForEach (one, all) {
            proposed += cJSON_GetObjectItem(one, "proposed")->valuedouble;
            accepted += cJSON_GetObjectItem(one, "accepted")->valuedouble;
        }
        assert_int_equal(capture_run(&c, ts_cmd_stats, "stats", files[i], files[i], "--json", NULL), TS_OK);
        assert_int_equal(ts_json_parse("out", c.out, strlen(c.out), &mine, NULL), TS_OK);
        const cJSON *a = cJSON_GetObjectItem(mine, "a");
        assert_true(cJSON_GetObjectItem(a, "proposed")->valuedouble == proposed);
        assert_true(cJSON_GetObjectItem(a, "accepted")->valuedouble == accepted && accepted > 100);
        assert_string_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(mine, "comparison"), "verdict")->valuestring,
                            "SAME");
        cJSON_Delete(root);
        cJSON_Delete(mine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tails),
        cmocka_unit_test(definitions),
        cmocka_unit_test(flags),
        cmocka_unit_test(sample_sizes),
        cmocka_unit_test(parts_add_up),
        cmocka_unit_test(a_position_is_named),
        cmocka_unit_test(teacher_forced),
        cmocka_unit_test(tuples),
        cmocka_unit_test(prompts_must_pair),
        cmocka_unit_test(command),
        cmocka_unit_test(plot),
        cmocka_unit_test(totals_of_goldens),
        cmocka_unit_test(no_false_alarms),
        cmocka_unit_test(a_shift_is_seen),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
