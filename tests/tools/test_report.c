/* What check prints: a failure is never lost, and every format is well formed. */
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

#include "check/check.h"
#include "format/json.h"

static ts_report made(bool bad)
{
    ts_report r = {.quiet = true};
    ts_report_begin(&r, "silu", "silu/<edges> & \"more\" #1");
    ts_report_add(&r, "ref32 = case", "y", TS_EXACT, 0, NULL);
    ts_report_add(&r, "ref32 ~ ref64p", "y", TS_BOUND, 0.25, NULL);
    if (bad)
        ts_report_add(&r, "silu.portable = ref32", "y", TS_FAIL, 0, "first <bad> element\nsecond \001 line\n");
    ts_report_add(&r, "card", "", TS_SKIP, 0, "no card here");
    return r;
}

static char *printed(void (*print)(const ts_report *, FILE *), const ts_report *r)
{
    static char *text; /* gcc 12 takes what points into the text for a pointer to a local */
    static size_t size;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    print(r, f);
    fclose(f);
    return text;
}

static int lines(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void green_and_red(void **state)
{
    (void)state;
    for (int bad = 0; bad < 2; bad++) {
        ts_report r = made(bad);
        r.options = " --seed 7";
        char *text = printed(ts_report_print, &r);
        assert_int_equal(ts_report_status(&r), bad ? TS_DIFFERS : TS_OK);
        assert_true((strstr(text, "bit-equal") != NULL) == !bad);
        assert_true((strstr(text, "repro: touchstone check --seed 7 --case 'silu/<edges> & \"more\" #1' --schedule "
                                  "silu.portable\n") != NULL) == bad);
        assert_non_null(
            strstr(text, bad ? "\n2 passed, 1 failed, 1 skipped\n" : "\n2 passed, 0 failed, 1 skipped\n"));
        assert_non_null(strstr(text, "SKIP silu"));
        free(text);
        ts_report_free(&r);
    }
}

/* Every line fits, and there are so few that the end is on one screen. */
static void expect_screen(const char *text)
{
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        if (strcspn(line, "\n") > 80)
            fail_msg("too wide: %.*s", (int)strcspn(line, "\n"), line);
    assert_true(lines(text) <= 45);
}

/* So that no part of a report has it. */
static void expect_verdict_last(const char *text)
{
    const char *verdict = strstr(text, "\nbit-equal: every schedule is still the reference's function\n");
    assert_non_null(verdict);
    assert_int_equal(lines(verdict), 3);
}

static void green_fits_a_screen(void **state)
{
    static const int groups[] = {1, 41, 42, 60, 82, 83, 200};
    (void)state;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        ts_report r = {.quiet = true};
        for (int g = 0; g < groups[i]; g++) {
            char name[40];
            snprintf(name, sizeof name, "operation %d of the set", g);
            ts_report_begin(&r, name, "a/case");
            ts_report_add(&r, "ref32 = case", "y", TS_EXACT, 0, NULL);
            ts_report_add(&r, "ref32 ~ ref64p", "y", TS_BOUND, 0.123456, NULL);
            if (groups[i] == 60)
                ts_report_add(&r, "card", "y", TS_SKIP, 0,
                              "no card here, and this is said in so many words that they do not fit in one line\n");
        }
        char *text = printed(ts_report_print, &r);
        expect_screen(text);
        assert_non_null(strstr(text, "operation 0 of the"));
        assert_true((strstr(text, "... and 119 more\n") != NULL) == (groups[i] == 200));
        assert_true((strstr(text, "more skipped: --json has them all\n") != NULL) == (groups[i] == 60));
        assert_true((strstr(text, "one line\n") != NULL) == (groups[i] == 60));
        expect_verdict_last(text);
        free(text);
        ts_report_free(&r);
    }
}

static void nothing_or_lost_is_red(void **state)
{
    (void)state;
    ts_report empty = {.quiet = true}, lost = made(false);
    assert_int_equal(ts_report_status(&empty), TS_DIFFERS);
    lost.lost = true;
    assert_int_equal(ts_report_status(&lost), TS_DIFFERS);
    char *text = printed(ts_report_tap, &lost);
    assert_non_null(strstr(text, "\n1..4\n"));
    assert_non_null(strstr(text, "\nnot ok 4 - out of memory"));
    free(text);
    text = printed(ts_report_tap, &empty);
    assert_string_equal(text, "TAP version 13\n1..1\nnot ok 1 - nothing was checked\n");
    free(text);
    text = printed(ts_report_print, &empty);
    assert_null(strstr(text, "bit-equal"));
    free(text);
    ts_report_free(&lost);
}

/* The command is whole and one line of a shell, whatever it is about. */
static void repro(void **state)
{
    (void)state;
    static char options[2000];
    memset(options, 'x', sizeof options - 1);
    ts_report r = {.quiet = true, .options = options};
    ts_report_begin(&r, "silu", "it's");
    ts_report_add(&r, "silu.a_name_of_thirty_nine_characters____ = ref32 (3 ranges)", "y", TS_FAIL, 0, NULL);
    ts_report_begin(&r, "files", "a/b.json");
    ts_report_add(&r, "b.json = SHA256SUMS", "", TS_FAIL, 0, NULL);
    ts_report_begin(&r, "silu", "");
    ts_report_add(&r, "silu.x", "", TS_FAIL, 0, NULL);
    char *text = ts_report_repro(&r, &r.v[0]), *end = text + strlen("touchstone check") + sizeof options - 1;
    assert_string_equal(end, " --case 'it'\\''s' --schedule silu.a_name_of_thirty_nine_characters____");
    free(text);
    r.options = NULL;
    static const char *const want[] = {"touchstone check --only files", "touchstone check --schedule silu.x"};
    for (int i = 0; i < 2; i++) {
        text = ts_report_repro(&r, &r.v[i + 1]);
        assert_string_equal(text, want[i]);
        free(text);
    }
    cJSON *o = ts_report_json(&r);
    const cJSON *last = cJSON_GetArrayItem(cJSON_GetObjectItem(o, "findings"), 2);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(last, "repro")), want[1]);
    cJSON_Delete(o);
    text = printed(ts_report_print, &r);
    assert_non_null(strstr(text, "\nFAIL silu: silu.x\n")); /* nothing for what is empty */
    free(text);
    ts_report_free(&r);
}

/* Skips alone prove nothing, and a part is not the whole. */
static void never_more_than_was_done(void **state)
{
    (void)state;
    ts_report r = {.quiet = true}, part = made(false);
    ts_report_begin(&r, "silu", "");
    ts_report_add(&r, "silu.avx2", "", TS_SKIP, 0, "no such CPU\n");
    assert_int_equal(ts_report_status(&r), TS_DIFFERS);
    char *text = printed(ts_report_print, &r);
    assert_null(strstr(text, "bit-equal"));
    assert_non_null(strstr(text, "\nSKIP silu: silu.avx2: no such CPU\n"));
    assert_non_null(strstr(text, "nothing was compared"));
    free(text);
    part.narrowed = true;
    text = printed(ts_report_print, &part);
    assert_non_null(strstr(text, "\nbit-equal: all that was compared\n"));
    free(text);
    ts_report_free(&r);
    ts_report_free(&part);
}

static void tap(void **state)
{
    (void)state;
    ts_report r = made(true);
    char *text = printed(ts_report_tap, &r);
    assert_int_equal(strncmp(text, "TAP version 13\n1..4\n", 20), 0);
    assert_non_null(strstr(text, "\nok 1 - silu: silu/<edges> & \"more\" \\#1: ref32 = case y\n"));
    assert_non_null(strstr(text, "\nnot ok 3 - silu: silu/<edges>"));
    assert_non_null(strstr(text, "\n# first <bad> element\n# second ? line\n"));
    assert_non_null(strstr(text, ": card # SKIP no card here\n"));
    assert_non_null(strstr(text, "\n# repro: touchstone check --case 'silu/<edges> & \"more\" #1' --schedule "
                                 "silu.portable\n"));
    assert_int_equal(lines(text), 2 + 4 + 3);
    free(text);
    ts_report_free(&r);
}

static char *junit_of(const ts_report *r)
{
    char path[] = "/tmp/touchstone-junit-XXXXXX", *text;
    size_t size;
    ts_error err;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(ts_report_junit(r, path, &err), TS_OK);
    assert_int_equal(ts_read_file(path, &text, &size, &err), TS_OK);
    unlink(path);
    return text;
}

static void junit(void **state)
{
    (void)state;
    ts_error err;
    ts_report r = made(true), empty = {.quiet = true};
    ts_report_begin(&r, "rope", "it's");
    ts_report_add(&r, "ref32 = case", "\xef\xbf\xbf", TS_EXACT, 0, NULL);
    char *text = junit_of(&r);
    assert_non_null(strstr(text,
                           "tests=\"5\" failures=\"1\" errors=\"0\" skipped=\"1\">\n  <testsuite name=\"silu\" "
                           "tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"1\">"));
    assert_non_null(strstr(text, "name=\"silu/&lt;edges&gt; &amp; &quot;more&quot; #1: "));
    assert_non_null(
        strstr(text, "<failure message=\"first &lt;bad&gt; element\">first &lt;bad&gt; element\nsecond ? line"));
    assert_non_null(strstr(text, "\nrepro: touchstone check --case &apos;silu/&lt;edges&gt;"));
    assert_non_null(strstr(text, "<skipped message=\"no card here\">"));
    assert_non_null(strstr(text, "name=\"it&apos;s: ref32 = case ?\"/>"));
    assert_null(strchr(text, 1));
    assert_string_equal(text + strlen(text) - strlen("</testsuites>\n"), "</testsuites>\n");
    free(text);
    text = junit_of(&empty);
    assert_non_null(strstr(text, "<testsuites name=\"touchstone check\" tests=\"1\" failures=\"0\" errors=\"1\""));
    free(text);
    assert_int_equal(ts_report_junit(&r, "/nonexistent/x.xml", &err), TS_BAD);
    ts_report_free(&r);
}

static ts_tensor vector(const float *data, int64_t n)
{
    return (ts_tensor){.name = "y", .dtype = TS_F32, .ndim = 1, .dim = {n}, .data = data, .size = (size_t)n * 4};
}

static const cJSON *measured(const cJSON *o, int i)
{
    const cJSON *m = cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(o, "findings"), i), "measured");
    assert_non_null(m);
    return m;
}

static void failing_tensors_are_measured(void **state)
{
    static const float ref[4] = {3, 4, 0, 0}, twice[4] = {6, 8, 0, 0}, across[4] = {-4, 3, 0, 0}, zero[4] = {0};
    (void)state;
    ts_report r = {.quiet = true};
    ts_check k = {.report = &r};
    ts_tensor want = vector(ref, 4), a = vector(twice, 4), b = vector(across, 4), z = vector(zero, 4);
    ts_report_begin(&r, "silu", "silu/x");
    ts_check_equal(&k, "x = ref", "ref", "x", &want, &a);
    ts_check_close(&k, "x ~ ref", &b, &want, 1e-3);
    ts_check_equal(&k, "x = zero", "zero", "x", &z, &a);
    static const float nan[4] = {3, 4, 0, NAN};
    ts_tensor n = vector(nan, 4);
    ts_check_equal(&k, "x = nan", "ref", "x", &want, &n);
    assert_non_null(strstr(r.v[0].detail, "elements by ulp distance: more: 2\n"));
    assert_non_null(strstr(r.v[0].detail, "norm ratio 2, relative L2 1, cosine 1\n"));
    assert_non_null(strstr(r.v[1].detail, "elements by ulp distance: more: 2\n"));
    assert_non_null(strstr(r.v[1].detail, "norm ratio 1, relative L2 1.41421356, cosine 0\n"));
    assert_non_null(strstr(r.v[2].detail, "norm ratio undefined, relative L2 undefined, cosine undefined\n"));
    cJSON *o = ts_report_json(&r);
    assert_true(cJSON_GetObjectItem(measured(o, 0), "norm_ratio")->valuedouble == 2);
    assert_true(cJSON_GetObjectItem(measured(o, 1), "cosine")->valuedouble == 0);
    assert_true(cJSON_GetObjectItem(measured(o, 0), "max_abs")->valuedouble == 4);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(measured(o, 3), "max_abs")));
    assert_non_null(strstr(r.v[3].detail, "max abs undefined"));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(measured(o, 2), "relative_l2")));
    assert_int_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(measured(o, 0), "ulp_histogram"), "more")->valueint,
                     2);
    cJSON_Delete(o);
    ts_report_free(&r);
}

static void texts_become_utf8(void **state)
{
    (void)state;
    ts_report r = {.quiet = true};
    ts_report_begin(&r, "silu", "sil\xfcu/\xc3\xbc");
    ts_report_add(&r, "x", "\xc3", TS_FAIL, 0, "\xff!\xed\xa0\x80\n");
    assert_string_equal(r.v[0].subject, "sil?u/\xc3\xbc");
    assert_string_equal(r.v[0].output, "?");
    assert_string_equal(r.v[0].detail, "?!???\n");
    ts_report_free(&r);
}

/* A child that could not keep a finding does not say that none is missing. */
static void lost_in_a_child(void **state)
{
    (void)state;
    int fd[2];
    char byte;
    assert_int_equal(pipe(fd), 0);
    ts_report from = {.quiet = true, .stream = fd[1], .lost = true};
    assert_false(ts_report_stream_end(&from));
    close(fd[1]);
    assert_int_equal(read(fd[0], &byte, 1), 0);
    close(fd[0]);
}

/* What a child writes is what its parent reads; cut anywhere, it is not taken for all. */
static void streams_are_whole_or_refused(void **state)
{
    (void)state;
    int fd[2];
    static char bytes[65536];
    assert_int_equal(pipe(fd), 0);
    ts_report from = {.quiet = true, .stream = fd[1]};
    cJSON *m = cJSON_Parse("{\"cosine\":0.5}");
    ts_report_begin(&from, "silu", "silu/x");
    ts_report_add(&from, "a", "y", TS_EXACT, 0, NULL);
    ts_report_add_measured(&from, "b", "y", TS_FAIL, 0.5, "why\n", m);
    assert_true(ts_report_stream_end(&from));
    close(fd[1]);
    size_t n = 0;
    for (ssize_t got; (got = read(fd[0], bytes + n, sizeof bytes - n)) > 0;)
        n += (size_t)got;
    close(fd[0]);
    for (size_t size = 0; size <= n; size++) {
        ts_report to = {.quiet = true};
        assert_int_equal(ts_report_stream_read(&to, bytes, size), size == n);
        if (size == n) {
            assert_int_equal(to.n, 2);
            assert_int_equal(to.count[TS_FAIL], 1);
            assert_string_equal(to.v[1].detail, "why\n");
            assert_string_equal(to.v[1].json, "{\"cosine\":0.5}");
            assert_null(to.v[0].detail);
        }
        ts_report_free(&to);
    }
    cJSON_Delete(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(green_and_red),
        cmocka_unit_test(green_fits_a_screen),
        cmocka_unit_test(nothing_or_lost_is_red),
        cmocka_unit_test(repro),
        cmocka_unit_test(never_more_than_was_done),
        cmocka_unit_test(tap),
        cmocka_unit_test(junit),
        cmocka_unit_test(failing_tensors_are_measured),
        cmocka_unit_test(texts_become_utf8),
        cmocka_unit_test(lost_in_a_child),
        cmocka_unit_test(streams_are_whole_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
