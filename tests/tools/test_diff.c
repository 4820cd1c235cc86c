#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/folder.h"
#include "compare.h"
#include "format/json.h"
#include "num/convert.h"
#include "tool.h"
#include "tools/capture.h"
#include "trace/trace.h"

static ts_tensor tensor(const char *name, ts_dtype dtype, int64_t rows, int64_t columns, const void *data)
{
    ts_tensor t = {.name = name, .dtype = dtype, .ndim = 2, .dim = {rows, columns}, .data = data};
    t.size = (size_t)(rows * columns * ts_dtype_table[dtype].bits / 8);
    return t;
}

/* One pair of f32 patterns. */
static ts_comparison pair_f32(uint32_t a, uint32_t b)
{
    ts_comparison c;
    float x = ts_float(a), y = ts_float(b);
    ts_tensor s = tensor("s", TS_F32, 1, 1, &x), t = tensor("t", TS_F32, 1, 1, &y);
    ts_status status = ts_compare(&s, &t, &c);
    assert_int_equal(status, c.differing ? TS_DIFFERS : TS_OK);
    return c;
}

static void f32_distances(void **state)
{
    static const struct {
        uint32_t a, b;
        int64_t differing;
        uint64_t ulp;
    } row[] = {
        {0x3f800000, 0x3f800000, 0, 0},          {0x3f800000, 0x3f800001, 1, 1},
        {0x3f7fffff, 0x3f800000, 1, 1},          {0x00000000, 0x80000000, 1, 0},
        {0x00000001, 0x80000001, 1, 2},          {0x7f7fffff, 0x7f800000, 1, 1},
        {0xbf800000, 0xbf800003, 1, 3},          {0x7f800000, 0xff800000, 1, 0xff000000},
        {0x7fc00000, 0xffc00001, 0, 0},          {0x7f800001, 0x7fc00000, 0, 0},
        {0x7fc00000, 0x3f800000, 1, TS_ULP_NAN}, {0x7f800000, 0x7f800001, 1, TS_ULP_NAN},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        for (int swap = 0; swap < 2; swap++) {
            ts_comparison c = pair_f32(swap ? row[i].b : row[i].a, swap ? row[i].a : row[i].b);
            assert_int_equal(c.differing, row[i].differing);
            assert_true(c.differing == 0 || c.first_ulp == row[i].ulp);
            assert_int_equal(c.first, row[i].differing ? 0 : -1);
        }
}

static void other_dtypes(void **state)
{
    static const struct {
        ts_dtype dtype;
        uint64_t a, b, ulp; /* little-endian patterns */
    } row[] = {
        {TS_F64, 0x3ff0000000000000, 0x3fefffffffffffff, 1},
        {TS_F64, 0, 0x8000000000000000, 0},
        {TS_F64, 0x7ff0000000000001, 0x3ff0000000000000, TS_ULP_NAN},
        {TS_BF16, 0x3f80, 0x3f82, 2},
        {TS_BF16, 0x7f81, 0, TS_ULP_NAN},
        {TS_F16, 0x3c00, 0x3bff, 1},
        {TS_F16, 0x7c01, 0x3c00, TS_ULP_NAN},
        {TS_I8, 0x80, 0x7f, 255},
        {TS_U8, 0x80, 0x7f, 1},
        {TS_I32, 0xffffffff, 1, 2},
        {TS_U32, 0xffffffff, 1, 0xfffffffe},
        {TS_I64, UINT64_MAX, 1, 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        ts_comparison c;
        ts_tensor a = tensor("a", row[i].dtype, 1, 1, &row[i].a), b = tensor("b", row[i].dtype, 1, 1, &row[i].b);
        assert_int_equal(ts_compare(&a, &b, &c), TS_DIFFERS);
        assert_true(c.first_ulp == row[i].ulp);
        assert_int_equal(ts_compare(&a, &a, &c), TS_OK);
    }
}

/* Unaligned, as in a file. */
static void counts_and_bins(void **state)
{
    unsigned char raw[2][4 * 8 + 1];
    const uint32_t a[8] = {0x3f800000, 0, 0x3f800000, 0x3f800000, 0x7fc00000, 0x40000000, 0x40000000, 0x7fc00000};
    const uint32_t b[8] = {0x3f800000, 0x80000000, 0x3f800001, 0x3f800014,
                           0x40000000, 0x40000000, 0x41000000, 0x7fc00001};
    const int64_t bin[TS_ULP_BINS] = {1, 1, 0, 0, 0, 1, 0, 1, 1};
    (void)state;
    memcpy(raw[0] + 1, a, sizeof a);
    memcpy(raw[1] + 1, b, sizeof b);
    ts_comparison c;
    ts_tensor s = tensor("s", TS_F32, 2, 4, raw[0] + 1), t = tensor("t", TS_F32, 2, 4, raw[1] + 1);
    assert_int_equal(ts_compare(&s, &t, &c), TS_DIFFERS);
    assert_int_equal(c.count, 8);
    assert_int_equal(c.differing, 5);
    assert_int_equal(c.first, 1);
    assert_int_equal(c.worst, 6);
    assert_int_equal(c.max_ulp, 0x1000000);
    assert_memory_equal(c.bin, bin, sizeof bin);
    assert_true(c.max_abs == 6.0 && c.max_rel == 0.75);
}

static void mismatches_and_empty(void **state)
{
    static const float x[6];
    (void)state;
    ts_comparison c;
    ts_tensor a = tensor("a", TS_F32, 2, 3, x), b = tensor("b", TS_F32, 3, 2, x), i = tensor("i", TS_I32, 2, 3, x);
    ts_tensor none = tensor("n", TS_F32, 0, 3, NULL),
              flat = {.name = "f", .dtype = TS_F32, .ndim = 1, .dim = {6}, .data = x, .size = 24};
    assert_int_equal(ts_compare(&a, &b, &c), TS_DIFFERS);
    assert_string_equal(c.mismatch, "F32 [2,3] against F32 [3,2]");
    assert_int_equal(ts_compare(&a, &i, &c), TS_DIFFERS);
    assert_string_equal(c.mismatch, "F32 [2,3] against I32 [2,3]");
    assert_int_equal(ts_compare(&a, &flat, &c), TS_DIFFERS);
    assert_int_equal(ts_compare(&none, &none, &c), TS_OK);
    assert_int_equal(c.count, 0);
}

static void f64_against_f32(void **state)
{
    const double x[3] = {0.1, 1.0, 1e300};
    const float y[3] = {0.1f, 1.0f, INFINITY}, z[3] = {0.1f, 1.00000012f, INFINITY};
    (void)state;
    ts_comparison c;
    ts_tensor a = tensor("a", TS_F64, 1, 3, x), b = tensor("b", TS_F32, 1, 3, y), d = tensor("d", TS_F32, 1, 3, z);
    assert_int_equal(ts_compare(&a, &b, &c), TS_OK);
    assert_true(c.mixed && c.differing == 0);
    assert_true(isinf(c.max_abs));
    assert_int_equal(ts_compare(&d, &a, &c), TS_DIFFERS);
    assert_int_equal(c.first, 1);
    assert_int_equal(c.first_ulp, 1);
}

static void prints_where(void **state)
{
    float a[12] = {0}, b[12] = {0};
    char text[4096];
    (void)state;
    a[7] = 1.0f;
    b[7] = ts_float(0x3f800001);
    b[11] = -0.0f;
    ts_comparison c;
    ts_tensor s = {
        .name = "layer.3.mixer", .dtype = TS_F32, .ndim = 3, .dim = {2, 2, 3}, .data = a, .size = sizeof a};
    ts_tensor t = s;
    t.data = b;
    ts_compare(&s, &t, &c);
    FILE *f = tmpfile();
    ts_compare_print(f, "first.st", "second.st", &s, &t, &c, 2);
    rewind(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    assert_string_equal(text, "layer.3.mixer F32 [2,2,3]: 2 of 12 elements differ, at most 1 ulp (flat 7), "
                              "max abs 1.19e-07, max rel 1.19e-07\n"
                              "  first at [1][0][1] row 2 col 1 (flat 7): 1 ulp\n"
                              "    1                        0x3f800000         first.st\n"
                              "    1.00000012               0x3f800001         second.st\n"
                              "  elements by ulp distance: 0 (sign of zero): 1, 1: 1\n"
                              "  rows from 2, columns 0 to 2: a | b, x where they differ\n"
                              "       2  00000000 3f800000 00000000 | 00000000 3f800001 00000000  .x.\n"
                              "       3  00000000 00000000 00000000 | 00000000 00000000 80000000  ..x\n");
}

/* Traces of three tensors, whose execution order is not the alphabet's. */
typedef struct {
    folder dir;
    char a[FOLDER_PATH], b[FOLDER_PATH];
} files;

static void write_trace(const char *path, float z, float b, bool f64, bool extra)
{
    const int64_t dim[2] = {2, 2};
    const float v[3][4] = {{1, 2, 3, z}, {1, 2, 3, 4}, {5, b, 7, 8}};
    static const char *const name[3] = {"z.first", "m.middle", "b.last"};
    ts_error err = {0};
    ts_trace *t = ts_trace_new();
    for (int i = 0; i < 3; i++) {
        double wide[4];
        for (int j = 0; j < 4; j++)
            wide[j] = (double)v[i][j];
        ts_trace_put(t, name[i], f64 ? TS_F64 : TS_F32, 2, dim, f64 ? (const void *)wide : v[i]);
    }
    if (extra)
        ts_trace_put(t, "x.more", TS_F32, 2, dim, v[0]);
    assert_int_equal(ts_trace_write(t, path, NULL, 0, &err), TS_OK);
    ts_trace_free(t);
}

static int set_up(void **state)
{
    static files f;
    folder_make(&f.dir);
    folder_file(&f.dir, "a.safetensors", f.a);
    folder_file(&f.dir, "b.safetensors", f.b);
    write_trace(f.a, 4, 6, false, false);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    folder_remove(&((files *)*state)->dir);
    return 0;
}

static capture got;

static void command_identical(void **state)
{
    files *f = *state;
    write_trace(f->b, 4, 6, false, false);
    assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", f->a, f->b, NULL), TS_OK);
    assert_string_equal(got.out, "3 tensors in both are identical\n");
    assert_string_equal(got.err, "");
}

static void command_differs(void **state)
{
    files *f = *state;
    write_trace(f->b, 9, ts_float(0x40c00001), false, false);
    assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", f->a, f->b, "--rows", "1", NULL), TS_DIFFERS);
    assert_non_null(strstr(got.out, "first difference: z.first F32 [2,2]: 1 of 4 elements differ"));
    assert_non_null(strstr(got.out, "first at [1][1] row 1 col 1 (flat 3)"));
    assert_non_null(strstr(got.out, "next: b.last F32 [2,2]: 1 of 4 elements differ, at most 1 ulp (flat 1)"));
    assert_non_null(strstr(got.out, "2 of 3 tensors differ\n"));
    assert_null(strstr(got.out, "m.middle"));
}

static void command_missing(void **state)
{
    files *f = *state;
    write_trace(f->b, 4, 6, false, true);
    assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", f->a, f->b, NULL), TS_DIFFERS);
    assert_non_null(strstr(got.out, "b.safetensors (1): x.more\n"));
    assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", f->b, f->a, NULL), TS_DIFFERS);
    assert_non_null(strstr(got.out, "b.safetensors (1): x.more\n"));
}

static void command_by_value(void **state)
{
    files *f = *state;
    write_trace(f->b, 4, 6, true, false);
    assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", f->a, f->b, NULL), TS_OK);
    assert_non_null(strstr(got.out, "compared by value"));
    assert_non_null(strstr(got.out, "3 tensors in both are identical after rounding to f32\n"));
    write_trace(f->b, 4, 6.5f, true, false);
    assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", f->a, f->b, NULL), TS_DIFFERS);
    assert_non_null(strstr(
        got.out, "1 of 4 elements differ as f32, at most 1048576 ulp (flat 1), max abs 0.5, max rel 0.0769"));
}

static cJSON *parsed(void)
{
    cJSON *o = NULL;
    ts_error err = {0};
    assert_int_equal(ts_json_parse("stdout", got.out, strlen(got.out), &o, &err), TS_OK);
    return o;
}

static void command_json(void **state)
{
    files *f = *state;
    write_trace(f->b, NAN, 6, false, true);
    assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", "--json", f->a, f->b, NULL), TS_DIFFERS);
    cJSON *o = parsed();
    assert_true(cJSON_IsFalse(cJSON_GetObjectItem(o, "identical")));
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(o, "extra")), 1);
    cJSON *e = cJSON_GetArrayItem(cJSON_GetObjectItem(o, "differences"), 0);
    assert_string_equal(cJSON_GetObjectItem(e, "tensor")->valuestring, "z.first");
    cJSON *first = cJSON_GetObjectItem(e, "first");
    assert_int_equal(cJSON_GetObjectItem(first, "index")->valueint, 3);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(first, "ulp")));
    assert_string_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(first, "b"), "bits")->valuestring, "0x7fc00000");
    cJSON_Delete(o);
}

static void command_errors(void **state)
{
    files *f = *state;
    assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", f->a, "/nonexistent", NULL), TS_BAD);
    assert_non_null(strstr(got.err, "touchstone: /nonexistent: "));
    assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", f->a, NULL), TS_USAGE);
    assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", f->a, f->a, f->a, NULL), TS_USAGE);
    assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", f->a, f->a, "--rows", "1x", NULL), TS_USAGE);
    assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", f->a, f->a, "--rows", NULL), TS_USAGE);
    assert_string_equal(got.err, "touchstone: --rows: needs a value\n");
    assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", "--wat", f->a, f->a, NULL), TS_USAGE);
    assert_string_equal(got.err, "touchstone: unknown option '--wat'\n");
    assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", "--help", NULL), TS_OK);
    assert_ptr_equal(strstr(got.out, "usage: touchstone diff"), got.out);
    assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", f->a, "/nonexistent", "--json", NULL), TS_BAD);
    cJSON *o = parsed();
    assert_int_equal(cJSON_GetObjectItem(o, "exit")->valueint, TS_BAD);
    assert_string_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(o, "error"), "file")->valuestring, "/nonexistent");
    cJSON_Delete(o);
    capture full = {.stdout_file = "/dev/full"};
    assert_int_equal(capture_run(&full, ts_cmd_diff, "diff", f->a, f->a, NULL), TS_BAD);
    assert_non_null(strstr(full.err, "touchstone: stdout: "));
}

/* The same numbers under two profiles: no comparison, unless it is asked for. One that names none is compared. */
static void profiles_apart(void **state)
{
    const files *f = *state;
    static const float x[2] = {1, 2};
    static const char *const names[3] = {"exact", "hf", NULL};
    const int refused[3] = {TS_OK, TS_USAGE, TS_OK};
    for (int i = 0; i < 3; i++) {
        ts_error err;
        for (int b = 0; b < 2; b++) {
            ts_trace *t = ts_trace_new();
            const ts_meta meta = {"profile", b ? names[i] : "exact"};
            ts_trace_put(t, "x", TS_F32, 1, (int64_t[]){2}, x);
            assert_int_equal(ts_trace_write(t, b ? f->b : f->a, &meta, meta.value ? 1 : 0, &err), TS_OK);
            ts_trace_free(t);
        }
        assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", f->a, f->b, NULL), refused[i]);
        assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", "--across-profiles", f->a, f->b, NULL), TS_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_distances),
        cmocka_unit_test(other_dtypes),
        cmocka_unit_test(counts_and_bins),
        cmocka_unit_test(mismatches_and_empty),
        cmocka_unit_test(f64_against_f32),
        cmocka_unit_test(prints_where),
        cmocka_unit_test_setup_teardown(command_identical, set_up, tear_down),
        cmocka_unit_test_setup_teardown(command_differs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(command_missing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(command_by_value, set_up, tear_down),
        cmocka_unit_test_setup_teardown(command_json, set_up, tear_down),
        cmocka_unit_test_setup_teardown(profiles_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(command_errors, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
