#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "num/status.h"

static void names_file_tensor_and_reason(void **state)
{
    (void)state;
    ts_error err;
    char buf[64];
    assert_int_equal(ts_fail(&err, TS_BAD, "a.st", "w", "row %d", 7), TS_BAD);
    assert_string_equal(ts_error_text(&err, buf, sizeof buf), "a.st: w: row 7");
    assert_int_equal(ts_fail(&err, TS_USAGE, NULL, "w", "x"), TS_USAGE);
    assert_string_equal(ts_error_text(&err, buf, sizeof buf), "w: x");
    ts_fail(&err, TS_BAD, "a.st", NULL, "x");
    assert_string_equal(ts_error_text(&err, buf, sizeof buf), "a.st: x");
    assert_string_equal(ts_error_text(&err, buf, 4), "a.s");
    assert_int_equal(ts_no_memory(&err, 12), TS_BAD);
    assert_string_equal(ts_error_text(&err, buf, sizeof buf), "out of memory (12 bytes)");
    assert_int_equal(ts_fail(NULL, TS_DIFFERS, "a", "b", "c"), TS_DIFFERS);
}

static void an_error_can_be_wrapped_in_place(void **state)
{
    (void)state;
    ts_error err;
    char buf[128];
    ts_fail(&err, TS_BAD, "a.st", "w", "short");
    ts_fail(&err, TS_BAD, err.file, err.tensor, "layer 3: %s", err.reason);
    assert_string_equal(ts_error_text(&err, buf, sizeof buf), "a.st: w: layer 3: short");
}

static void long_and_hostile_text_is_cut(void **state)
{
    (void)state;
    ts_error err;
    char text[5000], cut[128];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ts_fail(&err, TS_BAD, text, text, "%s", text);
    assert_int_equal(strlen(err.file), sizeof err.file - 1);
    assert_int_equal(strlen(err.tensor), sizeof err.tensor - 1);
    assert_int_equal(strlen(err.reason), sizeof err.reason - 1);
    memcpy(text + 126, "\xe2\x82\xac", 3); /* a three-byte character across the cut at 127 */
    ts_fail(&err, TS_BAD, NULL, text, "x");
    memset(cut, 'x', 126);
    cut[126] = '\0';
    assert_string_equal(err.tensor, cut);
    ts_fail(&err, TS_BAD, NULL, "two\nlines\x7f", "x");
    assert_string_equal(err.tensor, "two?lines?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_file_tensor_and_reason),
        cmocka_unit_test(an_error_can_be_wrapped_in_place),
        cmocka_unit_test(long_and_hostile_text_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
