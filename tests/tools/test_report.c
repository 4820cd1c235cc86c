/* What check prints: a failure is never lost, and every format is well formed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/report.h"
#include "format/json.h"

static ts_report made(bool bad)
{
    ts_report r = {.quiet = true};
    ts_report_begin(&r, "silu", "silu/<edges> & \"more\"");
    ts_report_add(&r, "ref32 = case", "y", TS_EXACT, 0, NULL);
    ts_report_add(&r, "ref32 ~ ref64p", "y", TS_BOUND, 0.25, NULL);
    if (bad)
        ts_report_add(&r, "silu.portable = ref32", "y", TS_FAIL, 0, "first <bad> element\nsecond \001 line\n");
    ts_report_add(&r, "card", "", TS_SKIP, 0, "no card here");
    return r;
}

static char *printed(void (*print)(const ts_report *, FILE *), const ts_report *r)
{
    char *text = NULL;
    size_t size = 0;
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
        snprintf(r.options, sizeof r.options, " --seed 7");
        char *text = printed(ts_report_print, &r);
        assert_int_equal(ts_report_status(&r), bad ? TS_DIFFERS : TS_OK);
        assert_true((strstr(text, "bit-equal") != NULL) == !bad);
        assert_true((strstr(text, "repro: touchstone check --seed 7 --case 'silu/<edges> & \"more\"' --schedule "
                                  "silu.portable\n") != NULL) == bad);
        assert_non_null(
            strstr(text, bad ? "\n2 passed, 1 failed, 1 skipped\n" : "\n2 passed, 0 failed, 1 skipped\n"));
        assert_non_null(strstr(text, "SKIP silu"));
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
    assert_non_null(strstr(text, "not ok 4"));
    free(text);
    ts_report_free(&lost);
}

static void tap(void **state)
{
    (void)state;
    ts_report r = made(true);
    char *text = printed(ts_report_tap, &r);
    assert_int_equal(strncmp(text, "TAP version 13\n1..4\n", 20), 0);
    assert_non_null(strstr(text, "\nnot ok 3 - silu: silu/<edges>"));
    assert_non_null(strstr(text, "\n# first <bad> element\n# second"));
    assert_non_null(strstr(text, " # SKIP\n"));
    assert_int_equal(lines(text), 2 + 4 + 2);
    free(text);
    ts_report_free(&r);
}

static void junit(void **state)
{
    (void)state;
    char path[] = "/tmp/touchstone-junit-XXXXXX", *text;
    size_t size;
    ts_error err;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    ts_report r = made(true);
    assert_int_equal(ts_report_junit(&r, path, &err), TS_OK);
    assert_int_equal(ts_read_file(path, &text, &size, &err), TS_OK);
    assert_non_null(strstr(text, "tests=\"4\" failures=\"1\" skipped=\"1\" errors=\"0\""));
    assert_non_null(strstr(text, "silu/&lt;edges&gt; &amp; &quot;more&quot;"));
    assert_non_null(strstr(text, "first &lt;bad&gt; element\nsecond ? line"));
    assert_null(strchr(text, 1));
    assert_non_null(strstr(text, "</testsuite>\n"));
    assert_int_equal(ts_report_junit(&r, "/nonexistent/x.xml", &err), TS_BAD);
    free(text);
    ts_report_free(&r);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(green_and_red), cmocka_unit_test(nothing_or_lost_is_red),
                                       cmocka_unit_test(tap), cmocka_unit_test(junit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
