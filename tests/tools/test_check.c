/* Does check turn red when it should? Bugs are planted in a copy of a few goldens; what is planted in
 * schedules is in test_containment.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "capture.h"
#include "check/report.h"
#include "format/safetensors.h"
#include "tool.h"

static const char DELTA[] = "external/ops-delta-rule.safetensors";
static const char TRACE[] = "external/rand-qwen35-edge-golden.safetensors";
static const char CASE[] = "own/cases/rmsnorm/plain.json";
static char folder[64];
static capture c;

static void shell(const char *format, ...)
{
    char command[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(command, sizeof command, format, list);
    va_end(list);
    assert_int_equal(system(command), 0);
}

static const char *path_of(const char *file)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    return path;
}

static void write_sums(void)
{
    shell("cd %s && rm -f SHA256SUMS && sha256sum $(find * -type f) > /tmp/touchstone-sums.%d && "
          "mv /tmp/touchstone-sums.%d SHA256SUMS",
          folder, (int)getpid(), (int)getpid());
}

static int copy_goldens(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/touchstone-check-XXXXXX");
    assert_non_null(mkdtemp(folder));
    shell("cd %s && mkdir -p external own/cases/external own/cases/rmsnorm", folder);
    shell("cp golden/external/ops-delta-rule.safetensors golden/external/rand-qwen35-edge-* %s/external", folder);
    shell("cp golden/own/cases/external/delta-rule.json golden/own/cases/external/trace-rand-edge.json "
          "%s/own/cases/external",
          folder);
    shell("cp golden/own/cases/rmsnorm/eps_visible.json %s/%s && cp golden/own/tables.json %s/own", folder, CASE,
          folder);
    write_sums();
    return 0;
}

static int remove_goldens(void **state)
{
    (void)state;
    shell("rm -rf %s", folder);
    return 0;
}

static int check(const char *option, const char *value)
{
    return capture_run(&c, ts_cmd_check, "check", "--golden", folder, option, value, NULL);
}

static void assert_red(const char *option, const char *value, const char *text)
{
    assert_int_equal(check(option, value), TS_DIFFERS);
    if (!strstr(c.out, text))
        fail_msg("no '%s' in:\n%s", text, c.out);
    assert_null(strstr(c.out, "bit-equal"));
}

/* Replaces one text of a file by another of any length. */
static void edit(const char *file, const char *from, const char *to)
{
    static char text[1 << 16];
    FILE *f = fopen(path_of(file), "rb");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    char *at = strstr(text, from);
    assert_non_null(at);
    f = fopen(path_of(file), "wb");
    assert_non_null(f);
    fprintf(f, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    assert_int_equal(fclose(f), 0);
}

/* What happens to the first tensor whose name ends so. */
typedef enum { WITH_NAN, SHORTER, TRANSPOSED, RENAMED, REMOVED } change;

static void change_golden(const char *file, const char *suffix, change how)
{
    ts_safetensors *f;
    ts_error err;
    assert_int_equal(ts_safetensors_open(path_of(file), &f, &err), TS_OK);
    size_t n = ts_safetensors_count(f), hit = n;
    ts_tensor *t = calloc(n, sizeof *t);
    assert_non_null(t);
    for (size_t i = 0; i < n; i++) {
        t[i] = *ts_safetensors_at(f, i);
        size_t len = strlen(t[i].name), tail = strlen(suffix);
        if (hit == n && len >= tail && strcmp(t[i].name + len - tail, suffix) == 0)
            hit = i;
    }
    assert_true(hit < n);
    double *copy = malloc(t[hit].size);
    assert_non_null(copy);
    memcpy(copy, t[hit].data, t[hit].size);
    t[hit].data = copy;
    if (how == WITH_NAN) {
        assert_int_equal(t[hit].dtype, TS_F64);
        copy[1] = (double)NAN;
    } else if (how == SHORTER) {
        t[hit].size -= t[hit].size / (size_t)t[hit].dim[0];
        t[hit].dim[0]--;
    } else if (how == TRANSPOSED) {
        int64_t first = t[hit].dim[0];
        t[hit].dim[0] = t[hit].dim[1];
        t[hit].dim[1] = first;
    } else if (how == RENAMED) {
        t[hit].name = "nobody.knows.this";
    } else {
        t[hit] = t[--n];
    }
    assert_int_equal(ts_safetensors_write(path_of(file), t, n, NULL, 0, &err), TS_OK);
    ts_safetensors_close(f);
    free(copy);
    free(t);
}

static void untouched_is_green(void **state)
{
    (void)state;
    assert_int_equal(capture_run(&c, ts_cmd_check, "check", "--golden", folder, NULL), TS_OK);
    assert_non_null(strstr(c.out, " 0 failed, 0 skipped"));
}

static void recorded_hashes_count(void **state)
{
    (void)state;
    edit(CASE, "\"y\":\t\"", "\"y\":\t\"00000000");
    assert_red("--case", "rmsnorm/*", "ref32 = case y");
    shell("sed -i '/\"y\":\t\"[0-9a-f]/d' %s", path_of(CASE));
    assert_red("--case", "rmsnorm/*", "the case expects       nothing");
    assert_int_equal(
        capture_run(&c, ts_cmd_check, "check", "--golden", folder, "--no-own", "--case", "rmsnorm/*", NULL), TS_OK);
    assert_non_null(strstr(c.out, "1 skipped"));
}

static void a_stale_hash_is_red(void **state)
{
    (void)state;
    shell("sed -i 's/\"y\":\t\"[0-9a-f]*/\"y\":\t\"%064d/' %s", 0, path_of(CASE));
    assert_red("--case", "rmsnorm/*", "the case expects       0000000");
}

static void goldens_are_compared_whole(void **state)
{
    (void)state;
    change_golden(DELTA, ".o", WITH_NAN);
    assert_red("--op", "delta_rule", "ref64");
    shell("cp golden/%s %s/external", DELTA, folder);
    change_golden(DELTA, ".o", SHORTER);
    assert_red("--op", "delta_rule", "FAIL");
    shell("cp golden/%s %s/external", DELTA, folder);
    change_golden(DELTA, ".02.o", TRANSPOSED);
    assert_red("--op", "delta_rule", "FAIL");
    shell("cp golden/%s %s/external", DELTA, folder);
    change_golden(DELTA, ".state", REMOVED);
    assert_red("--op", "delta_rule", "FAIL");
    change_golden(TRACE, "layer.0.mixer", WITH_NAN);
    assert_red("--op", "trace", "layer.0.mixer");
    shell("cp golden/%s %s/external", TRACE, folder);
    change_golden(TRACE, "cache.0.recurrent_states.final", SHORTER);
    assert_red("--op", "trace", "shapes differ");
    shell("cp golden/%s %s/external", TRACE, folder);
    change_golden(TRACE, "layer.0.mixer", RENAMED);
    assert_red("--op", "trace", "nothing was compared with this tensor");
}

static void a_golden_of_something_else_is_red(void **state)
{
    (void)state;
    shell("cp golden/external/mlx-affine.safetensors %s/%s", folder, DELTA);
    assert_red("--op", "delta_rule", "nothing in it was compared");
}

static void files_are_those_recorded(void **state)
{
    (void)state;
    shell("cd %s/external && mv rand-qwen35-edge-config.json x && mv ops-delta-rule.safetensors "
          "rand-qwen35-edge-config.json && mv x ops-delta-rule.safetensors",
          folder);
    assert_red("--only", "files", "2 failed");
    write_sums();
    assert_int_equal(check("--only", "files"), TS_OK);
    shell("rm %s/own/tables.json", folder);
    assert_red("--only", "files", "no file for the line");
    write_sums();
    shell("touch %s/external/unknown", folder);
    assert_red("--only", "files", "the file has no line");
}

static void nothing_is_never_green(void **state)
{
    (void)state;
    assert_int_equal(check("--case", "no such case"), TS_USAGE);
    assert_int_equal(check("--op", "no such operation"), TS_USAGE);
    ts_report r = {.quiet = true};
    assert_int_equal(ts_report_status(&r), TS_DIFFERS);
    ts_report_begin(&r, "group", "subject");
    ts_report_add(&r, "what", "y", TS_EXACT, 0, NULL);
    assert_int_equal(ts_report_status(&r), TS_OK);
    r.lost = true;
    assert_int_equal(ts_report_status(&r), TS_DIFFERS);
    r.lost = false;
    ts_report_add(&r, "what", "z", TS_FAIL, 0, NULL);
    assert_int_equal(ts_report_status(&r), TS_DIFFERS);
    ts_report_free(&r);
}

static void assert_file(const char *file, const char *text, bool there)
{
    static char content[1 << 16];
    FILE *f = fopen(path_of(file), "rb");
    assert_non_null(f);
    content[fread(content, 1, sizeof content - 1, f)] = 0;
    fclose(f);
    if (!strstr(content, text) == there)
        fail_msg("%s: \"%s\" in\n%s", file, text, content);
}

static void golden(const char *commit, const char *result)
{
    capture_run(&c, ts_cmd_golden, "golden", "--golden", folder, commit ? "--commit" : NULL, commit, NULL);
    if (c.code != TS_OK || !strstr(c.out, result))
        fail_msg("exit %d %s%s", c.code, c.out, c.err);
}

/* A commit that is known takes the place of one that was not, and of no other. */
static void golden_repairs_made_by(void **state)
{
    (void)state;
    shell("sed -i 's/\"commit\":.*/\"commit\": \"unknown\",/; s/\"flags\":.*/\"flags\": \"f\"/' %s/%s", folder,
          CASE);
    golden(NULL, "1 cases, 0 changed, 0 with");
    golden("", "1 cases, 0 changed, 0 with");
    assert_file(CASE, "abc", false);
    golden("abc", "1 cases, 0 changed, 1 with");
    assert_file(CASE, "abc", true);
    golden("def", "1 cases, 0 changed, 0 with");
    assert_file(CASE, "abc", true);
    assert_int_equal(check("--only", "files"), TS_OK);
    shell("cp %s %s/own/cases/rmsnorm/more.json", path_of(CASE), folder);
    assert_red("--only", "files", "no line in SHA256SUMS: make golden");
}

static void a_broken_case_is_red(void **state)
{
    (void)state;
    edit(CASE, "\"schema\"", "schema");
    assert_red("--op", "rmsnorm", "FAIL broken: rmsnorm/plain");
    assert_red("--only", "ops", "FAIL broken: rmsnorm/plain");
}

static void a_seed_gives_other_inputs(void **state)
{
    (void)state;
    static capture first;
    capture_run(&c, ts_cmd_check, "check", "--golden", folder, "--case", "rmsnorm/*", "--json", "--seed", "1",
                NULL);
    first = c;
    assert_int_equal(c.code, TS_OK);
    capture_run(&c, ts_cmd_check, "check", "--golden", folder, "--case", "rmsnorm/*", "--json", "--seed", "2",
                NULL);
    assert_int_equal(c.code, TS_OK);
    assert_int_not_equal(strcmp(first.out, c.out), 0); /* how close the bound was differs */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(untouched_is_green, copy_goldens, remove_goldens),
        cmocka_unit_test_setup_teardown(recorded_hashes_count, copy_goldens, remove_goldens),
        cmocka_unit_test_setup_teardown(a_stale_hash_is_red, copy_goldens, remove_goldens),
        cmocka_unit_test_setup_teardown(goldens_are_compared_whole, copy_goldens, remove_goldens),
        cmocka_unit_test_setup_teardown(a_golden_of_something_else_is_red, copy_goldens, remove_goldens),
        cmocka_unit_test_setup_teardown(files_are_those_recorded, copy_goldens, remove_goldens),
        cmocka_unit_test_setup_teardown(nothing_is_never_green, copy_goldens, remove_goldens),
        cmocka_unit_test_setup_teardown(golden_repairs_made_by, copy_goldens, remove_goldens),
        cmocka_unit_test_setup_teardown(a_broken_case_is_red, copy_goldens, remove_goldens),
        cmocka_unit_test_setup_teardown(a_seed_gives_other_inputs, copy_goldens, remove_goldens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
