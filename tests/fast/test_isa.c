/* fast/cpu/isa.c, as the binary shows it: TS_CPU caps the schedules that run, and a bad one is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpu/isa.h"

enum { TEXT = 1 << 18 };

static char text[TEXT];

/* build/[san/]touchstone, two folders above this program; its exit code. */
static int run(const char *cap, const char *arguments)
{
    char path[4096], shell[4400];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(n > 0);
    path[n] = '\0';
    for (int i = 0; i < 3; i++)
        *strrchr(path, '/') = '\0';
    snprintf(shell, sizeof shell, "TS_CPU='%s' '%s/touchstone' %s 2>&1", cap, path, arguments);
    FILE *f = popen(shell, "r");
    assert_non_null(f);
    text[fread(text, 1, TEXT - 1, f)] = '\0';
    int status = pclose(f);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Are the schedules of the isa among those that would run? */
static bool lists(const ts_isa *isa)
{
    bool all = true;
    for (int i = 0; isa->schedules[i]; i++) {
        char line[96];
        snprintf(line, sizeof line, "\nschedule %s\n", isa->schedules[i]->name);
        all = all && strstr(text, line);
    }
    return all;
}

static void a_cap_leaves_what_is_below_it(void **state)
{
    (void)state;
    for (int i = 0; ts_isas[i].name; i++) {
        if (!ts_isas[i].present())
            continue;
        assert_int_equal(run(ts_isas[i].name, "check --list"), 0);
        for (int k = 0; ts_isas[k].name; k++)
            if (ts_isas[k].schedules[0] && lists(&ts_isas[k]) != (k >= i && ts_isas[k].present()))
                fail_msg("TS_CPU=%s: %s\n%s", ts_isas[i].name, ts_isas[k].name, text);
    }
    assert_int_equal(run("portable", "check --list"), 0);
    for (int k = 0; ts_isas[k].name; k++)
        assert_false(ts_isas[k].schedules[0] && lists(&ts_isas[k]));
    assert_non_null(strstr(text, "residual_add.portable"));
    assert_int_equal(run("", "check --list"), 0); /* as if it were not set */
}

static void others_are_refused(void **state)
{
    (void)state;
    assert_int_equal(run("bogus", "check --list"), TS_USAGE);
    assert_ptr_equal(strstr(text, "touchstone: TS_CPU: 'bogus' is not portable or one of"), text);
    assert_int_equal(run("bogus", "check --list --json"), TS_USAGE);
    assert_non_null(strstr(text, "\"tensor\":\t\"TS_CPU\""));
    assert_int_equal(run("bogus", "--help"), TS_OK);
    for (int i = 0; ts_isas[i].name; i++)
        if (!ts_isas[i].present()) {
            assert_int_equal(run(ts_isas[i].name, "check --list"), TS_USAGE);
            assert_non_null(strstr(text, "this CPU has no "));
        }
}

/* The cap in this process: the registry asks for it each time. */
static void runs(void **state)
{
    (void)state;
    assert_int_equal(setenv("TS_CPU", "portable", 1), 0);
    assert_true(ts_isa_runs(NULL));
    for (int i = 0; ts_isas[i].name; i++)
        assert_false(ts_isa_runs(ts_isas[i].name));
    assert_int_equal(ts_isa_check(NULL), TS_OK);
    assert_int_equal(setenv("TS_CPU", "bogus", 1), 0);
    for (int i = 0; ts_isas[i].name; i++)
        assert_false(ts_isa_runs(ts_isas[i].name));
    assert_int_equal(ts_isa_check(NULL), TS_USAGE);
    assert_int_equal(unsetenv("TS_CPU"), 0);
    for (int i = 0; ts_isas[i].name; i++)
        assert_int_equal(ts_isa_runs(ts_isas[i].name), ts_isas[i].present());
    assert_false(ts_isa_runs("bogus"));
    assert_int_equal(ts_isa_check(NULL), TS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cap_leaves_what_is_below_it),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
