#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "capture.h"
#include "check/check_cuts.h"
#include "ref.h"
#include "tool.h"

static void right(const void *args, int64_t begin, int64_t end)
{
    (void)begin;
    (void)end;
    ts_ref32.op(TS_OP_CONV1D, (void *)args);
}

/* The state of a piece shorter than the width is made of its own rows only: report B23. */
static void forgets_short_pieces(const void *args, int64_t begin, int64_t end)
{
    const ts_conv1d_args *a = args;
    right(args, begin, end);
    for (int64_t c = 0; c < a->C; c++)
        for (int64_t j = 0; j + a->T < a->W; j++)
            a->state[c * a->W + j] = 0;
}

static void one_row_alone_is_wrong(const void *args, int64_t begin, int64_t end)
{
    const ts_conv1d_args *a = args;
    right(args, begin, end);
    if (a->T == 1)
        a->y[0] += 1;
}

static ts_schedule planted(void (*run)(const void *, int64_t, int64_t))
{
    return (ts_schedule){.name = "conv1d.planted", .op = TS_OP_CONV1D, .order = "taps", .exposes = "", .run = run};
}

/* Findings of that schedule (NULL: ref32) over a case of the repository. */
static void findings(const char *path, const ts_schedule *s, ts_report *report)
{
    ts_case c;
    ts_call inputs, ref;
    ts_error err;
    ts_check k = {.report = report};
    assert_int_equal(ts_case_load("golden/own/cases", path, &c, &err), TS_OK);
    assert_int_equal(ts_call_from_case(&c, &inputs, &err), TS_OK);
    assert_int_equal(ts_call_copy(&inputs, false, &ref, &err), TS_OK);
    ts_ref32.op(c.op, ref.args);
    ts_check_cuts_of(&k, &c, &inputs, &ref, s);
    ts_call_free(&ref);
    ts_call_free(&inputs);
    ts_case_free(&c);
}

static void every_composition_is_tried(void **state)
{
    (void)state;
    ts_schedule s = planted(right);
    for (int i = 0; i < 2; i++) {
        ts_report r = {.quiet = true};
        findings("golden/own/cases/conv1d/cuts_w4.json", i ? &s : NULL, &r);
        assert_int_equal(r.count[TS_EXACT], 2);
        assert_int_equal(r.n, 2);
        assert_non_null(strstr(r.v[0].what, "1490 ways")); /* tetranacci */
        ts_report_free(&r);
    }
    ts_report r = {.quiet = true};
    findings("golden/own/cases/conv1d/cuts_t70.json", NULL, &r);
    assert_non_null(strstr(r.v[0].what, "70 ways")); /* 69 in two, and each row alone */
    ts_report_free(&r);
    findings("golden/own/cases/gdn_chunk64/cuts_chunks.json", NULL, &r);
    assert_non_null(strstr(r.v[0].what, "4 ways"));
    ts_report_free(&r);
}

static void planted_bugs_are_found(void **state)
{
    (void)state;
    ts_schedule forgets = planted(forgets_short_pieces), alone = planted(one_row_alone_is_wrong);
    ts_report r = {.quiet = true};
    findings("golden/own/cases/conv1d/cuts_w4.json", &forgets, &r);
    assert_true(r.count[TS_FAIL] > 0);
    ts_report_free(&r);
    findings("golden/own/cases/conv1d/cuts_t70.json", &alone, &r);
    assert_int_equal(r.count[TS_FAIL], 1); /* y, not the state */
    assert_non_null(strstr(r.v[1].what, "pieces of 1, 69"));
    ts_report_free(&r);
}

static void covers_selects_and_is_shown(void **state)
{
    (void)state;
    static capture c;
    assert_int_equal(capture_run(&c, ts_cmd_check, "check", "--covers", "B24", "--json", NULL), 0);
    assert_non_null(strstr(c.out, "\"conv1d/cuts_w4\":\t[\"B23\", \"B24\", \"B40\"]"));
    assert_null(strstr(c.out, "rmsnorm"));
    assert_int_equal(
        capture_run(&c, ts_cmd_check, "check", "--covers", "B23", "--case", "*/cuts_w1", "--list", NULL), 0);
    assert_int_equal(strncmp(c.out, "case conv1d/cuts_w1\nschedule", 28), 0);
    assert_int_equal(capture_run(&c, ts_cmd_check, "check", "--covers", "Z9", NULL), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_composition_is_tried),
        cmocka_unit_test(planted_bugs_are_found),
        cmocka_unit_test(covers_selects_and_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
