/* Schedules that misbehave: each is named for what it did, and the run goes on. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "schedule.h"

static void add(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    for (int64_t i = begin; i < end; i++)
        a->y[i] = a->a[i] + a->b[i];
}

static void read_null(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    const float *volatile nowhere = (const float *)(uintptr_t)64; /* a null pointer the sanitizers do not know */
    add(args, begin, end);
    a->y[begin] = *nowhere;
}

static void loop(const void *args, int64_t begin, int64_t end)
{
    volatile int for_ever = 1;
    add(args, begin, end);
    while (for_ever)
        ;
}

static void write_past(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    float *volatile y = a->y;
    add(args, begin, end);
    y[a->n] = 1;
}

static void write_before(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    float *volatile y = a->y;
    add(args, begin, end);
    y[-1] = 1;
}

static void leave_one(const void *args, int64_t begin, int64_t end)
{
    add(args, begin, end > 700 && begin <= 700 ? 700 : end);
    if (end > 701)
        add(args, 701 > begin ? 701 : begin, end);
}

static void write_input(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    add(args, begin, end);
    *(float *)(uintptr_t)&a->a[begin] = 0;
}

static void leave(const void *args, int64_t begin, int64_t end)
{
    add(args, begin, end);
    exit(0);
}

static void give_up(const void *args, int64_t begin, int64_t end)
{
    add(args, begin, end);
    abort();
}

static void trap(const void *args, int64_t begin, int64_t end)
{
    add(args, begin, end);
    raise(SIGFPE);
}

static void all_nan(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    for (int64_t i = begin; i < end; i++)
        a->y[i] = NAN;
}

/* Right over the whole, wrong in a range that does not start at 0. */
static void wrong_ranges(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    add(args, begin, end);
    if (begin > 0)
        a->y[begin] = a->y[begin - 1];
}

/* The texts of the failures of one schedule on the case residual_add/typical, and how many findings in all. */
static void expect(void (*run)(const void *, int64_t, int64_t), const char *text, int failures)
{
    const ts_schedule s = {"bad.test", TS_OP_RESIDUAL_ADD, "cpu", "any", "elementwise", "any", "", NULL, run};
    const ts_schedule *const extra[] = {&s, NULL};
    ts_report report = {.quiet = true};
    ts_check k = {.o = {.golden = "golden", .extra = extra, .timeout = 1}, .report = &report};
    ts_case c;
    ts_error err;
    assert_int_equal(ts_case_load("golden/own/cases", "golden/own/cases/residual_add/typical.json", &c, &err),
                     TS_OK);
    ts_check_op_case(&k, &c);
    int failed = 0, honest = 0;
    for (size_t i = 0; i < report.n; i++) {
        const ts_finding *f = &report.v[i];
        honest += f->verdict == TS_EXACT && strncmp(f->what, "residual_add.portable", 21) == 0;
        if (f->verdict != TS_FAIL)
            continue;
        failed++;
        assert_int_equal(strncmp(f->what, "bad.test", 8), 0);
        if (!f->detail || !strstr(f->detail, text))
            fail_msg("'%s' does not say '%s'", f->detail ? f->detail : "", text);
    }
    assert_int_equal(failed, failures);
    assert_int_equal(honest, 3);
    ts_case_free(&c);
    ts_report_free(&report);
}

static void each_is_named(void **state)
{
    (void)state;
    expect(add, "", 0);
    expect(read_null, "crashed: Segmentation fault, at address", 3);
    expect(loop, "hangs: no result after 1 seconds", 3);
    expect(write_past, "1 bytes past the end of y", 3);
    expect(write_before, "wrote before the start of y: 4 bytes before it", 3);
    expect(leave_one, "left unwritten: element 700 of y", 3);
    expect(write_input, "writing to the input a, byte", 3);
    expect(leave, "ended the process with exit code 0", 3);
    expect(give_up, "crashed: Aborted", 3);
    expect(trap, "crashed: Floating point exception", 3);
    expect(all_nan, "", 3);
    expect(wrong_ranges, "", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_is_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
