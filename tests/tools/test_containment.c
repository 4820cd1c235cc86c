/* Schedules that misbehave: each is named for what it did, and the run goes on. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/run.h"
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

static void illegal(const void *args, int64_t begin, int64_t end)
{
    add(args, begin, end);
    raise(SIGILL);
}

static void be_killed(const void *args, int64_t begin, int64_t end)
{
    add(args, begin, end);
    raise(SIGKILL);
}

static void write_far_past(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    float *volatile y = a->y;
    add(args, begin, end);
    y[a->n + 10000] = 1;
}

static void read_past_input(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    const float *volatile b = a->b;
    add(args, begin, end);
    a->y[begin] += b[a->n] * 0;
}

static void write_args(const void *args, int64_t begin, int64_t end)
{
    add(args, begin, end);
    ((ts_zip_args *)(uintptr_t)args)->n = 0;
}

/* Right where y holds anything but one of the fills. */
static void depend_on_output(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    uint32_t before;
    memcpy(&before, &a->y[begin], sizeof before);
    add(args, begin, end);
    if (before == 0x7fedbeefu)
        a->y[begin] = 0;
}

static volatile int depth_limit = 1 << 30;

static int overflow(int depth)
{
    volatile char page[4096];
    page[0] = (char)depth;
    return depth < depth_limit ? overflow(depth + 1) + page[0] : 0;
}

static void overflow_stack(const void *args, int64_t begin, int64_t end)
{
    const ts_zip_args *a = args;
    add(args, begin, end);
    a->y[begin] = (float)overflow(0);
}

static void chatter(const void *args, int64_t begin, int64_t end)
{
    add(args, begin, end);
    puts("noise");
    fflush(stdout);
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
        a->y[begin] = -a->y[begin];
}

/* residual_add/typical with this schedule beside the honest ones: so many failures, each with that text. */
static void expect(void (*run)(const void *, int64_t, int64_t), const char *text, int failures, int skips)
{
    const ts_schedule s = {
        .name = "bad.test",
        .op = TS_OP_RESIDUAL_ADD,
        .backend = "cpu",
        .shapes = "any",
        .order = "elementwise",
        .profile = "any",
        .exposes = "",
        .run = run,
    };
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
    assert_int_equal(report.count[TS_SKIP], skips);
    assert_int_equal(honest, 3);
    ts_case_free(&c);
    ts_report_free(&report);
}

static void each_is_named(void **state)
{
    (void)state;
    expect(add, "", 0, 0);
    expect(chatter, "", 0, 0);
    expect(read_null, "crashed: SIGSEGV at 0x40\n", 3, 0);
    expect(loop, "hangs: no result after 1 seconds", 1, 2);
    expect(write_past, "1 bytes past the end of output y", 3, 0);
    expect(write_far_past, "40001 bytes past the end of output y", 3, 0);
    expect(write_before, "wrote before the start of output y: 4 bytes before it", 3, 0);
    expect(write_input, "writing to input a, byte", 3, 0);
    expect(read_past_input, "1 bytes past the end of input b", 3, 0);
    expect(write_args, "writing to input the args struct, byte 0", 3, 0);
    expect(leave, "ended the process with exit code 0", 3, 0);
    expect(give_up, "crashed: SIGABRT", 3, 0);
    expect(trap, "crashed: SIGFPE", 3, 0);
    expect(illegal, "crashed: SIGILL", 3, 0);
    expect(be_killed, "crashed: Killed", 3, 0);
    expect(overflow_stack, "crashed: ", 3, 0);
}

static void wrong_values_are_named(void **state)
{
    (void)state;
    expect(leave_one, "element 700 left unwritten (1 of ", 3, 0);
    expect(depend_on_output, "a second run, over other contents of the outputs", 3, 0);
    expect(all_nan, "NaN against a number", 3, 0);
    expect(wrong_ranges, "elements differ", 2, 0);
}

/* An int8 code may be any byte: only two runs over two fills tell that it was not written. */
static void one_code_less(const void *args, int64_t begin, int64_t end)
{
    const ts_quantize_a64_args *a = args;
    int8_t kept = a->code[0];
    ts_schedule_find("quantize_a64.portable")->run(args, begin, end);
    a->code[0] = begin == 0 ? kept : a->code[0];
}

static bool dereference(const void *args)
{
    const char *volatile nowhere = (const char *)(uintptr_t)64;
    return args && *nowhere;
}

static const ts_finding *find(const ts_report *r, ts_verdict verdict, const char *what)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i].verdict == verdict && strncmp(r->v[i].what, what, strlen(what)) == 0)
            return &r->v[i];
    fail_msg("no finding '%s' of verdict %s", what, ts_verdict_name[verdict]);
    return NULL;
}

/* The whole run, over processes: what kills one case is a finding, and the others come out in the list's order. */
static void a_run_goes_on(void **state)
{
    (void)state;
    const ts_schedule bad[] = {
        {.name = "less.test",
         .op = TS_OP_QUANTIZE_A64,
         .backend = "cpu",
         .shapes = "any",
         .order = "A64",
         .profile = "any",
         .exposes = "",
         .run = one_code_less},
        {.name = "accepts.test",
         .op = TS_OP_RESIDUAL_ADD,
         .backend = "cpu",
         .shapes = "any",
         .order = "elementwise",
         .profile = "any",
         .exposes = "",
         .accepts = dereference,
         .run = add},
    };
    const ts_schedule *const extra[] = {&bad[0], &bad[1], NULL};
    const char *const path[] = {"quantize_a64/blocks_alternating", "residual_add/typical", "silu/typical"};
    struct ts_model_cache *models = NULL;
    ts_report r = {.quiet = true};
    ts_check k = {.o = {.golden = "golden", .extra = extra, .only = "ops"}, .report = &r, .models = &models};
    ts_case c[3];
    ts_error err;
    for (int i = 0; i < 3; i++) {
        char file[128];
        snprintf(file, sizeof file, "golden/own/cases/%s.json", path[i]);
        assert_int_equal(ts_case_load("golden/own/cases", file, &c[i], &err), TS_OK);
    }
    ts_check_run(&k, c, 3);
    const ts_finding *code = find(&r, TS_FAIL, "less.test"), *dead = find(&r, TS_FAIL, "process");
    assert_string_equal(code->output, "code");
    assert_non_null(strstr(code->detail, "element 0 left unwritten (1 of "));
    assert_string_equal(dead->subject, path[1]);
    assert_non_null(strstr(dead->detail, "after the finding 'residual_add.portable = ref32 (3 ranges) y'"));
    find(&r, TS_EXACT, "silu.portable = ref32 (2 threads)");
    int at = 0;
    for (size_t i = 0; i < r.n && r.v[i].subject[0]; i++) { /* what is said of the whole run comes last */
        at += at < 2 && strcmp(r.v[i].subject, path[at]) != 0;
        assert_string_equal(r.v[i].subject, path[at]);
    }
    assert_int_equal(at, 2);
    for (int i = 0; i < 3; i++)
        ts_case_free(&c[i]);
    ts_report_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_is_named), cmocka_unit_test(wrong_values_are_named),
                                       cmocka_unit_test(a_run_goes_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
