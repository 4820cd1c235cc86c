/* What the bench command writes and prints: its rows against the registry, its files, its errors. No time is
 * compared with anything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/folder.h"
#include "bench/peer_blas.h"
#include "bench/result.h"
#include "format/json.h"
#include "schedule.h"
#include "tool.h"
#include "tools/capture.h"

#define TINY "golden/models/tiny-qwen35"

static capture got;
static folder dir;
static char json[FOLDER_PATH], other[FOLDER_PATH], plot[FOLDER_PATH];

static int set_up(void **state)
{
    (void)state;
    folder_make(&dir);
    folder_file(&dir, "a.json", json);
    folder_file(&dir, "b.json", other);
    folder_file(&dir, "a.svg", plot);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(&dir);
    return 0;
}

static cJSON *load(const char *path)
{
    cJSON *o = NULL;
    assert_int_equal(ts_json_load(path, &o, NULL), TS_OK);
    return o;
}

static const cJSON *find_row(const cJSON *o, const char *name)
{
    const cJSON *row;
    cJSON_ArrayForEach (row, cJSON_GetObjectItemCaseSensitive(o, "rows"))
        if (strcmp(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, "name")), name) == 0)
            return row;
    return NULL;
}

static double number(const cJSON *o, const char *a, const char *b)
{
    const cJSON *x = cJSON_GetObjectItemCaseSensitive(o, a);
    return cJSON_GetNumberValue(b ? cJSON_GetObjectItemCaseSensitive(x, b) : x);
}

/* Every schedule of the registry that takes the shape has a row with numbers. */
static void rows_of_the_registry(void **state)
{
    const ts_schedule *s;
    (void)state;
    capture_run(&got, ts_cmd_bench, "bench", "--op", "residual_add", "--shape", "70001", "--seconds", "0.01",
                "--json", json, "--plot", plot, NULL);
    assert_int_equal(got.code, TS_OK);
    assert_int_equal(strncmp(got.out, "probe: ", 7), 0);
    cJSON *o = load(json);
    assert_true(number(o, "schema", NULL) == TS_RESULT_SCHEMA && number(o, "probe", "best") > 0);
    for (int i = 0; (s = ts_schedule_at(i)) != NULL; i++) {
        if (s->op != TS_OP_RESIDUAL_ADD)
            continue;
        const cJSON *row = find_row(o, s->name);
        assert_non_null(row);
        assert_non_null(strstr(got.out, s->name));
        assert_true(number(row, "ns", "median") > 0 && number(row, "runs", NULL) >= TS_LEAST_ROUNDS);
        assert_true(number(row, "ns", "q1") <= number(row, "ns", "median"));
        assert_true(number(row, "ns", "median") <= number(row, "ns", "q3"));
        assert_true(number(row, "bytes", NULL) == 3.0 * 4 * 70001);
        const cJSON *ratios = cJSON_GetObjectItemCaseSensitive(row, "ratios");
        assert_true(number(ratios, "read", "median") > 0);
        assert_true(!s->isa || number(ratios, "residual_add.portable", "median") > 0);
    }
    cJSON_Delete(o);
    char *svg = NULL;
    size_t size;
    assert_int_equal(ts_read_file(plot, &svg, &size, NULL), TS_OK);
    assert_int_equal(strncmp(svg, "<svg ", 5), 0);
    assert_string_equal(svg + size - 7, "</svg>\n");
    assert_non_null(strstr(svg, "residual_add.portable / read"));
    free(svg);
}

/* Beside the machine's limits it is alone. */
static void one_schedule(void **state)
{
    (void)state;
    capture_run(&got, ts_cmd_bench, "bench", "--schedule", "matmul_a64s8.portable", "--op", "matmul_a64s8",
                "--shape", "2,64,128", "--footprint", "cache", "--seconds", "0.05", "--json", json, NULL);
    assert_int_equal(got.code, TS_OK);
    cJSON *o = load(json);
    const cJSON *row = find_row(o, "matmul_a64s8.portable"), *x;
    assert_non_null(row);
    assert_true(number(row, "macs_per_ns", NULL) > 0 && number(o, "threads", NULL) == 1);
    assert_true(number(cJSON_GetObjectItemCaseSensitive(row, "ratios"), "read", "median") > 0);
    cJSON_ArrayForEach (x, cJSON_GetObjectItemCaseSensitive(o, "rows"))
        assert_string_not_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(x, "kind")), "schedule");
    cJSON_Delete(o);
}

static void threads(void **state)
{
    (void)state;
    capture_run(&got, ts_cmd_bench, "bench", "--op", "gdn_step", "--shape", "2,2,4,128,128", "--footprint", "cache",
                "--seconds", "0.05", "--threads", "2", "--json", json, NULL);
    assert_int_equal(got.code, TS_OK);
    cJSON *o = load(json);
    assert_true(number(o, "threads", NULL) == 2);
    assert_non_null(find_row(o, "gdn_step.portable"));
    assert_non_null(find_row(o, "read+write"));
    cJSON_Delete(o);
}

/* What it is built from: two schedules, one of which crashes when it runs. */
static const char plugin[] =
    "#include \"touchstone.h\"\n"
    "static void add(const void *args, int64_t begin, int64_t end)\n"
    "{\n"
    "    const ts_zip_args *a = (const ts_zip_args *)args;\n"
    "    for (int64_t i = begin; i < end; i++)\n"
    "        a->y[i] = a->a[i] + a->b[i];\n"
    "}\n"
    "static void crash(const void *args, int64_t begin, int64_t end) { *(volatile int *)16 = 1; }\n"
    "#define S(n, f) {n, TS_OP_RESIDUAL_ADD, \"cpu\", \"any\", \"elementwise\", \"any\", \"\", 0, f}\n"
    "static const ts_schedule a = S(\"residual_add.mine\", add), b = S(\"residual_add.crash\", crash);\n"
    "const uint32_t ts_plugin_abi = TS_PLUGIN_ABI;\n"
    "const ts_schedule *const ts_plugin_schedules[] = {&a, &b, 0};\n";

static void plugins(void **state)
{
    char source[FOLDER_PATH], object[FOLDER_PATH], command[2048];
    (void)state;
    folder_file(&dir, "plugin.c", source);
    folder_file(&dir, "plugin.so", object);
    assert_int_equal(ts_write_file(source, plugin, strlen(plugin), NULL), TS_OK);
    snprintf(command, sizeof command,
             "${CC:-cc} -std=c11 -w -Iref/base -Iref/model -Ifast -Itools -shared -fPIC %s -o %s", source, object);
    assert_int_equal(system(command), 0);
    capture_run(&got, ts_cmd_bench, "bench", "--op", "residual_add", "--shape", "70001", "--plugin", object,
                "--seconds", "0.02", "--json", json, NULL);
    assert_int_equal(got.code, TS_OK);
    cJSON *o = load(json);
    assert_true(number(find_row(o, "residual_add.mine"), "ns", "median") > 0);
    assert_non_null(strstr(got.out, "SKIP residual_add.crash: crashes: signal"));
    cJSON_Delete(o);
}

static void a_model(void **state)
{
    (void)state;
    capture_run(&got, ts_cmd_bench, "bench", "--model", TINY, "--seconds", "0.01", "--json", json, NULL);
    assert_int_equal(got.code, TS_OK);
    cJSON *o = load(json);
    static const char *const name[] = {"load", "pack", "prefill", "decode", "read"};
    for (int i = 0; i < 5; i++)
        assert_non_null(find_row(o, name[i]));
    assert_true(number(find_row(o, "load"), "ns", "median") > 0);
    cJSON_Delete(o);
}

#define HEAD "{\"schema\":1,\"kind\":\"touchstone bench\",\"cpu\":\"c\",\"rows\":["
#define ROW(name, kind, disturbed, read)                                                           \
    "{\"op\":\"o\",\"shape\":\"s\",\"footprint\":\"cache\",\"name\":\"" name "\",\"kind\":\"" kind \
    "\",\"disturbed\":" disturbed ",\"ns\":{\"median\":1},\"ratios\":{\"read\":{\"median\":" read "}}}"

static int compare(const char *was, const char *is, const char *tolerance)
{
    assert_int_equal(ts_write_file(json, was, strlen(was), NULL), TS_OK);
    assert_int_equal(ts_write_file(other, is, strlen(is), NULL), TS_OK);
    return capture_run(&got, ts_cmd_bench, "bench", "--compare", json, other, "--tolerance", tolerance, NULL);
}

static void compares_ratios(void **state)
{
    const char *was = HEAD ROW("a", "schedule", "false", "0.8") "," ROW("b", "peer", "false", "0.8") "]}";
    (void)state;
    assert_int_equal(compare(was, HEAD ROW("a", "schedule", "false", "0.73") "]}", "0.1"), TS_OK);
    assert_null(strstr(got.out, "FELL"));
    assert_int_equal(compare(was, HEAD ROW("a", "schedule", "false", "0.73") "]}", "0.05"), TS_DIFFERS);
    assert_non_null(strstr(got.out, "FELL o s cache a: 0.73 times read, was 0.8 (-9%)"));
    assert_int_equal(compare(was, HEAD ROW("a", "schedule", "false", "8") "]}", "0"), TS_OK);
    assert_int_equal(compare(was, HEAD ROW("a", "schedule", "true", "0.1") "]}", "0.1"), TS_BAD); /* nothing left */
    assert_non_null(strstr(got.out, "SKIP o s cache a: the machine was disturbed"));
    assert_int_equal(compare(was, HEAD ROW("b", "peer", "false", "0.1") "]}", "0.1"), TS_BAD);
    assert_non_null(strstr(got.out, "SKIP o s cache a: no such row"));
    assert_non_null(strstr(got.err, "no ratio in common"));
    assert_int_equal(compare(was, "{\"schema\":1,\"kind\":\"x\",\"rows\":[]}", "0.1"), TS_BAD);
    assert_int_equal(compare(was, "{\"schema\":2,\"kind\":\"touchstone bench\",\"rows\":[]}", "0.1"), TS_BAD);
    assert_int_equal(compare(was, HEAD "7,{},{\"ratios\":{\"read\":3}}]}", "0.1"), TS_BAD);
    assert_int_equal(compare(HEAD "7,{},{\"ratios\":{\"read\":3}}]}", was, "0.1"), TS_BAD);
    assert_int_equal(compare(was, "{", "0.1"), TS_BAD);
}

static void fails(int code, const char *reason, const char *a, const char *b, const char *c, const char *d)
{
    capture_run(&got, ts_cmd_bench, "bench", a, b, c, d, NULL);
    if (got.code != code || !strstr(got.err, reason))
        fail_msg("%s %s: exit %d, looked for '%s' in: %s", a, b, got.code, reason, got.err);
    assert_ptr_equal(strchr(got.err, '\n'), got.err + strlen(got.err) - 1); /* one line */
}

static void errors(void **state)
{
    char base[FOLDER_PATH];
    (void)state;
    fails(TS_USAGE, "no operation 'nope'", "--op", "nope", NULL, NULL);
    fails(TS_USAGE, "no schedule 'exp.nope'", "--schedule", "exp.nope", NULL, NULL);
    fails(TS_USAGE, "no schedule 'exp.portable' of silu", "--schedule", "exp.portable", "--op", "silu");
    fails(TS_USAGE, "needs --op", "--shape", "1,2,3", NULL, NULL);
    fails(TS_USAGE, "K%64", "--op", "matmul_a64s8", "--shape", "1,2,3");
    fails(TS_USAGE, "has 3 dims", "--op", "matmul_a64s8", "--shape", "1,2,64,5");
    fails(TS_USAGE, "'1,x'", "--op", "rmsnorm", "--shape", "1,x");
    fails(TS_USAGE, "'1,-1,1': N is not a whole number from 0 to", "--op", "matmul_dot32", "--shape", "1,-1,1");
    fails(TS_USAGE, "another T", "--op", "rmsnorm", "--shape", "0");
    fails(TS_USAGE, "not cache, dram or both", "--footprint", "l2", NULL, NULL);
    fails(TS_USAGE, "more than 0", "--seconds", "0", NULL, NULL);
    fails(TS_USAGE, "below 1", "--tolerance", "1", NULL, NULL);
    fails(TS_USAGE, "not one operation", "--model", TINY, "--op", "exp");
    fails(TS_BAD, "cannot write", "--op", "exp", "--json", "/nonexistent/a.json");
    fails(TS_BAD, "Is a directory", "--op", "nope", "--json", "/tmp"); /* said before anything is timed */
    fails(TS_BAD, "/nonexistent", "--model", "/nonexistent", NULL, NULL);
    fails(TS_BAD, "/nonexistent/libggml-base.so", "--peer-ggml", "/nonexistent", "--op", "exp");
    folder_file(&dir, "libggml-base.so", base);
    assert_int_equal(ts_write_file(base, "no ELF", 6, NULL), TS_OK);
    snprintf(base, sizeof base, "%s", json);
    *strrchr(base, '/') = '\0';
    fails(TS_BAD, "not a shared object", "--peer-ggml", base, "--op", "exp");
    fails(TS_BAD, "cannot open", "--compare", "/nonexistent/a", "/nonexistent/b", NULL);
}

static void old_blas_core(void **state)
{
    (void)state;
    ts_openblas old = {.core = "Prescott", .threads = 1};
    ts_blas_problem *p;
    ts_match m = {0};
    ts_error err;
    assert_int_equal(ts_blas_enter(&old, 512, 16, 64, &m, &p, &err), TS_BAD);
    assert_non_null(strstr(err.reason, "its core is Prescott"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_the_registry),
        cmocka_unit_test(one_schedule),
        cmocka_unit_test(threads),
        cmocka_unit_test(plugins),
        cmocka_unit_test(old_blas_core),
        cmocka_unit_test(a_model),
        cmocka_unit_test(compares_ratios),
        cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
