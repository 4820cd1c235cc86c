/* Schedules that misbehave: each is named for what it did, and the run goes on. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "check/pool.h"
#include "check/process.h"
#include "check/run.h"
#include "schedule.h"
#include "tools/misbehave.h"

/* The case with this schedule beside the honest ones. */
static ts_report report_of(const char *path, const ts_schedule *s)
{
    const ts_schedule *const extra[] = {s, NULL};
    char file[128];
    ts_report report = {.quiet = true};
    ts_check k = {.o = {.golden = "golden", .extra = extra, .timeout = 1}, .report = &report};
    ts_case c;
    ts_error err;
    snprintf(file, sizeof file, "golden/own/cases/%s.json", path);
    assert_int_equal(ts_case_load("golden/own/cases", file, &c, &err), TS_OK);
    ts_check_op_case(&k, &c);
    ts_case_free(&c);
    return report;
}

/* So many failures, all of the schedule called bad.test, each with that text. */
static void expect_failures(const ts_report *r, const char *text, int failures)
{
    int failed = 0;
    for (size_t i = 0; i < r->n; i++) {
        const ts_finding *f = &r->v[i];
        if (f->verdict != TS_FAIL)
            continue;
        failed++;
        assert_int_equal(strncmp(f->what, "bad.test", 8), 0);
        if (!f->detail || !strstr(f->detail, text))
            fail_msg("'%s' does not say '%s'", f->detail ? f->detail : "", text);
    }
    if (failed != failures)
        fail_msg("%d failures instead of %d: %s", failed, failures, text);
}

static ts_schedule named_bad(ts_op_id op, void (*run)(const void *, int64_t, int64_t))
{
    return (ts_schedule){.name = "bad.test",
                         .op = op,
                         .backend = "cpu",
                         .shapes = "any",
                         .order = ts_op_table[op].order,
                         .profile = "any",
                         .exposes = "",
                         .run = run};
}

static void expect(void (*run)(const void *, int64_t, int64_t), const char *text, int failures, int skips)
{
    const ts_schedule s = named_bad(TS_OP_RESIDUAL_ADD, run);
    ts_report r = report_of("residual_add/typical", &s);
    int honest = 0;
    expect_failures(&r, text, failures);
    for (size_t i = 0; i < r.n; i++)
        honest += r.v[i].verdict == TS_EXACT && strncmp(r.v[i].what, "residual_add.portable", 21) == 0;
    assert_int_equal(r.count[TS_SKIP], skips);
    assert_int_equal(honest, 3);
    ts_report_free(&r);
}

static void each_is_named(void **state)
{
    (void)state;
    expect(add, "", 0, 0);
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
    expect(misaligned, "misaligned access (arrays are aligned to their elements only), or a non-canonical", 3, 0);
    expect(kill_group, "crashed: Terminated", 3, 0);
}

/* What a schedule starts and does not end; the check does not wait for it. */
static void left_behind(void **state)
{
    (void)state;
    double start = ts_process_clock();
    expect(leave_child, "leaves a process behind", 1, 0);
    expect(leave_daemon, "leaves a process behind", 1, 0);
    expect(come_back_twice, "leaves a process behind", 1, 0);
    expect(leave_thread, "leaves threads behind: after all runs there are 11 more than after the first", 1, 0);
    expect(keep_pool, "", 0, 0);
    const ts_schedule late = named_bad(TS_OP_RESIDUAL_ADD, write_later);
    ts_report r = report_of("residual_add/typical", &late);
    assert_true(r.count[TS_FAIL] > 0); /* what is there in the end does not count */
    ts_report_free(&r);
    assert_true(ts_process_clock() - start < 20);
}

static void ranges_are_kept(void **state)
{
    (void)state;
    expect(do_all, "writes outside its range: element 0 of output y is of two ranges", 1, 0);
    expect(one_too_many, "writes outside its range: element ", 1, 0);
    expect(cache_by_pointer, "", 3, 0);
}

/* What a schedule prints goes to standard error. */
static void nothing_is_printed(void **state)
{
    (void)state;
    FILE *f = tmpfile();
    fflush(stdout);
    int out = dup(STDOUT_FILENO);
    assert_true(f && out >= 0 && dup2(fileno(f), STDOUT_FILENO) >= 0);
    expect(chatter, "", 0, 0);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    assert_int_equal(lseek(fileno(f), 0, SEEK_END), 0);
    fclose(f);
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

/* The whole run, over processes: what kills one schedule is a finding, and the others come out in the list's order.
 */
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
    const ts_finding *code = find(&r, TS_FAIL, "less.test"), *dead = find(&r, TS_FAIL, "accepts.test");
    assert_string_equal(code->output, "code");
    assert_non_null(strstr(code->detail, "element 0 left unwritten (1 of "));
    assert_string_equal(dead->subject, path[1]);
    assert_string_equal(dead->detail, "accepts crashed: SIGSEGV at 0x40\n");
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

/* A packing of matmul_dot32's weights as they are, 16 rows a panel. */
enum { PANEL = 16 };

static size_t panel_size(const ts_matrix *w)
{
    return w->format == TS_W_BF16 ? (size_t)(PANEL * w->K * 2 + 63) / 64 * 64 : 0;
}

static size_t odd_size(const ts_matrix *w)
{
    return panel_size(w) + 2;
}

static void pack_rows(const ts_matrix *w, int64_t begin, int64_t end, void *to)
{
    size_t panel = panel_size(w), row = (size_t)w->K * 2;
    for (int64_t i = begin; i < end; i++) {
        int64_t left = w->N - i * PANEL, rows = left < PANEL ? left : PANEL;
        char *p = (char *)to + (size_t)i * panel;
        memset(p, 0, panel);
        memcpy(p, (const char *)w->data + (size_t)(i * PANEL) * row, (size_t)rows * row);
    }
}

static void pack_past(const ts_matrix *w, int64_t begin, int64_t end, void *to)
{
    pack_rows(w, begin, end, to);
    ((volatile char *)to)[(size_t)((w->N + PANEL - 1) / PANEL) * panel_size(w)] = 1;
}

static void pack_before(const ts_matrix *w, int64_t begin, int64_t end, void *to)
{
    pack_rows(w, begin, end, to);
    ((volatile char *)to)[-1] = 1;
}

static void pack_less(const ts_matrix *w, int64_t begin, int64_t end, void *to)
{
    volatile char *last = (char *)to + (size_t)end * panel_size(w) - 1;
    char kept = *last;
    pack_rows(w, begin, end, to);
    *last = end > begin ? kept : *last;
}

static void pack_more(const ts_matrix *w, int64_t begin, int64_t end, void *to)
{
    int64_t all = (w->N + PANEL - 1) / PANEL;
    pack_rows(w, begin, end < all ? end + 1 : end, to);
}

static void pack_by_range(const ts_matrix *w, int64_t begin, int64_t end, void *to)
{
    pack_rows(w, begin, end, to);
    if (end > begin)
        ((char *)to)[(size_t)begin * panel_size(w)] = (char)(end - begin);
}

static void pack_weights(const ts_matrix *w, int64_t begin, int64_t end, void *to)
{
    *(volatile char *)(uintptr_t)w->data = 0;
    pack_rows(w, begin, end, to);
}

static void pack_for_ever(const ts_matrix *w, int64_t begin, int64_t end, void *to)
{
    volatile int for_ever = 1;
    pack_rows(w, begin, end, to);
    while (for_ever)
        ;
}

static void multiply(const void *args, int64_t begin, int64_t end)
{
    ts_schedule_find("matmul_dot32.portable")->run(args, begin, end);
}

static void change_bits(const void *args, int64_t begin, int64_t end)
{
    const ts_matmul_args *a = args;
    multiply(args, begin, end);
    ((volatile ts_matrix *)(uintptr_t)a->w)->bits = 4;
}

static void expect_packing(size_t (*size)(const ts_matrix *),
                           void (*pack)(const ts_matrix *, int64_t, int64_t, void *), const char *text)
{
    const ts_packing p = {"test/1", PANEL, size, pack};
    ts_schedule s = named_bad(TS_OP_MATMUL_DOT32, multiply);
    s.packing = &p;
    ts_report r = report_of("matmul_dot32/tails_n127", &s);
    expect_failures(&r, text, text[0] ? 1 : 0);
    ts_report_free(&r);
}

static void packing_is_contained(void **state)
{
    (void)state;
    expect_packing(panel_size, pack_rows, "");
    expect_packing(odd_size, pack_rows, "no multiple of 64");
    expect_packing(panel_size, pack_past, "pack crashed: SIGSEGV");
    expect_packing(panel_size, pack_past, "1 bytes past the end of the packed weights");
    expect_packing(panel_size, pack_before, "pack wrote before the start of the packed copy");
    expect_packing(panel_size, pack_less, "pack leaves bytes of the packed copy unwritten");
    expect_packing(panel_size, pack_more, "or writes outside the range");
    expect_packing(panel_size, pack_by_range, "of a range of panels gives other bytes than of all");
    expect_packing(panel_size, pack_weights, "writing to input the matrix, byte 0");
    expect_packing(panel_size, pack_for_ever, "pack hangs: no result after 1 seconds");
    ts_schedule s = named_bad(TS_OP_MATMUL_DOT32, change_bits);
    ts_report r = report_of("matmul_dot32/tails_n127", &s);
    expect_failures(&r, "writing to input the matrix struct, byte", 3);
    ts_report_free(&r);
}

/* Without descriptors there is no child: one finding, and none of outputs that nobody wrote. */
static void no_process(void **state)
{
    (void)state;
    const ts_schedule s = named_bad(TS_OP_RESIDUAL_ADD, add);
    const ts_schedule *const extra[] = {&s, NULL};
    ts_report r = {.quiet = true};
    ts_check k = {.o = {.golden = "golden", .extra = extra, .schedule = "bad.test"}, .report = &r};
    ts_case c;
    ts_error err;
    struct rlimit before, none;
    assert_int_equal(ts_case_load("golden/own/cases", "golden/own/cases/residual_add/typical.json", &c, &err),
                     TS_OK);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    ts_check_op_case(&k, &c);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    expect_failures(&r, "could not start a process", 1);
    ts_case_free(&c);
    ts_report_free(&r);
}

static void ignore_alarm(void *context, size_t i, ts_report *r)
{
    (void)context;
    signal(SIGALRM, SIG_IGN);
    ts_report_begin(r, "silu", "silu/x");
    ts_report_add(r, "fine", "y", TS_EXACT, 0, NULL);
    ts_report_now(r, "silu.test");
    if (i == 1)
        raise(SIGSTOP);
    if (i == 2 && fork() > 0)
        _exit(3);
    if (i == 3)
        ts_report_now(r, "");
    for (int s = 0; s < 30 && i < 3; s++)
        sleep(1);
    r->lost |= i == 4;
}

static void count_done(void *context, size_t i)
{
    (void)i;
    ++*(int *)context;
}

/* A case's process that hangs, stops, leaves a child with its pipe, or loses a finding. */
static void pool_has_a_deadline(void **state)
{
    (void)state;
    static const char *const text[] = {"hangs: no result after 1 seconds", "hangs: no result after 1 seconds",
                                       "ended the process with exit code 3", NULL, "exit code 1"};
    enum { JOBS = sizeof text / sizeof *text };
    ts_report r[JOBS] = {{0}};
    int done = 0;
    double start = ts_process_clock();
    ts_report *parts[JOBS];
    for (int i = 0; i < JOBS; i++) {
        parts[i] = &r[i];
        r[i].quiet = true;
        ts_report_begin(&r[i], "silu", "silu/x");
    }
    ts_pool_run(&(ts_pool){.n = JOBS,
                           .width = 2,
                           .seconds = 1,
                           .work = ignore_alarm,
                           .done = count_done,
                           .context = &done,
                           .part = parts});
    assert_int_equal(done, JOBS);
    assert_true(ts_process_clock() - start < 15);
    for (int i = 0; i < JOBS; i++) {
        assert_int_equal(r[i].n, text[i] ? 2 : 1);
        assert_int_equal(r[i].count[TS_FAIL], text[i] != NULL);
        if (text[i]) {
            assert_string_equal(r[i].v[1].what, "silu.test");
            assert_non_null(strstr(r[i].v[1].detail, text[i]));
            assert_non_null(strstr(r[i].v[1].detail, "after the finding 'fine y'"));
        }
        ts_report_free(&r[i]);
    }
}

static void pause_apart(const void *args, int64_t begin, int64_t end)
{
    add(args, begin, end);
    if (fork() == 0) {
        setsid();
        for (;;)
            pause();
    }
}

/* Whoever leaves the group ends too: else it would hold what check prints to. */
static void nothing_survives(void **state)
{
    (void)state;
    const ts_schedule s = named_bad(TS_OP_RESIDUAL_ADD, pause_apart);
    const ts_schedule *const extra[] = {&s, NULL};
    struct ts_model_cache *models = NULL;
    ts_report r = {.quiet = true};
    ts_check k = {.o = {.golden = "golden", .extra = extra, .only = "ops"}, .report = &r, .models = &models};
    ts_case c;
    ts_error err;
    int fd[2];
    char byte;
    assert_int_equal(ts_case_load("golden/own/cases", "golden/own/cases/residual_add/typical.json", &c, &err),
                     TS_OK);
    assert_int_equal(pipe(fd), 0);
    ts_check_run(&k, &c, 1);
    close(fd[1]);
    struct pollfd end = {.fd = fd[0], .events = POLLIN};
    assert_int_equal(poll(&end, 1, 5000), 1);
    assert_int_equal(read(fd[0], &byte, 1), 0);
    close(fd[0]);
    expect_failures(&r, "leaves a process behind", 1);
    ts_case_free(&c);
    ts_report_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_named),        cmocka_unit_test(left_behind),
        cmocka_unit_test(ranges_are_kept),      cmocka_unit_test(nothing_is_printed),
        cmocka_unit_test(packing_is_contained), cmocka_unit_test(wrong_values_are_named),
        cmocka_unit_test(no_process),           cmocka_unit_test(pool_has_a_deadline),
        cmocka_unit_test(a_run_goes_on),        cmocka_unit_test(nothing_survives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
