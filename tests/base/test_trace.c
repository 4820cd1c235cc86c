/* trace: execution order, growth by rows, kept errors, and the order of a trace file. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "folder.h"
#include "trace/trace.h"

static folder dir;
static char path[FOLDER_PATH];

static int make_dir(void **state)
{
    (void)state;
    folder_make(&dir);
    folder_file(&dir, "t.safetensors", path);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    folder_remove(&dir);
    return 0;
}

static void keeps_execution_order(void **state)
{
    (void)state;
    const float x[6] = {1, 2, 3, 4, 5, 6};
    const int64_t dim[2] = {2, 3};
    const ts_meta meta = {"profile", "ts"};
    const char *const name[] = {"layer.0.mixer", "layer.0.mlp", "a"};
    ts_trace *t = ts_trace_new();
    for (size_t i = 0; i < 3; i++)
        ts_trace_put(t, name[i], TS_F32, 2, dim, x);
    assert_int_equal(ts_trace_count(t), 3);
    assert_string_equal(ts_trace_at(t, 2)->name, "a");
    assert_ptr_equal(ts_trace_find(t, "layer.0.mlp"), ts_trace_at(t, 1));
    assert_null(ts_trace_find(t, "layer.0"));
    assert_int_equal(ts_trace_write(t, path, &meta, 1, NULL), TS_OK);
    ts_trace_free(t);

    ts_safetensors *f;
    const char **order;
    size_t n;
    assert_int_equal(ts_safetensors_open(path, &f, NULL), TS_OK);
    assert_string_equal(ts_safetensors_meta(f, "profile"), "ts");
    assert_string_equal(ts_safetensors_meta(f, "order"), "[\"layer.0.mixer\",\"layer.0.mlp\",\"a\"]");
    assert_int_equal(ts_trace_order(f, &order, &n, NULL), TS_OK);
    assert_int_equal(n, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(order[i], name[i]);
        assert_memory_equal(ts_safetensors_find(f, order[i])->data, x, sizeof x);
    }
    free(order);
    ts_safetensors_close(f);
}

static void second_put_appends_rows(void **state)
{
    (void)state;
    float x[100][3];
    ts_trace *t = ts_trace_new();
    for (int i = 0; i < 100; i++)
        for (int k = 0; k < 3; k++)
            x[i][k] = (float)(3 * i + k);
    const int64_t none[2] = {0, 3};
    for (int64_t at = 0; at < 100;) {
        const int64_t left = 100 - at, want = 1 + at % 7, dim[2] = {want < left ? want : left, 3};
        ts_trace_put(t, "o", TS_F32, 2, none, NULL);
        ts_trace_put(t, "o", TS_F32, 2, dim, x[at]);
        at += dim[0];
    }
    const ts_tensor *o = ts_trace_find(t, "o");
    assert_int_equal(ts_trace_count(t), 1);
    assert_int_equal(o->dim[0], 100);
    assert_int_equal(o->dim[1], 3);
    assert_int_equal(o->size, sizeof x);
    assert_memory_equal(o->data, x, sizeof x);
    ts_trace_free(t);
}

static void many_names(void **state)
{
    (void)state;
    char name[32];
    ts_trace *t = ts_trace_new();
    for (int step = 0; step < 3; step++)
        for (int64_t i = 0; i < 5000; i++) {
            const int64_t one = 1;
            snprintf(name, sizeof name, "layer.%d.x", (int)i);
            ts_trace_put(t, name, TS_I64, 1, &one, &i);
        }
    assert_int_equal(ts_trace_count(t), 5000);
    for (int64_t i = 0; i < 5000; i++) {
        const int64_t want[3] = {i, i, i};
        snprintf(name, sizeof name, "layer.%d.x", (int)i);
        assert_ptr_equal(ts_trace_find(t, name), ts_trace_at(t, (size_t)i));
        assert_memory_equal(ts_trace_at(t, (size_t)i)->data, want, sizeof want);
    }
    ts_trace_free(t);
}

/* After a first good put, this one must make ts_trace_write fail with `reason`. */
static void assert_kept(ts_dtype dtype, int ndim, const int64_t *dim, const char *reason)
{
    const double x[8] = {0};
    const int64_t good[2] = {2, 2};
    ts_error err = {0};
    ts_trace *t = ts_trace_new();
    ts_trace_put(t, "o", TS_F32, 2, good, x);
    ts_trace_put(t, "o", dtype, ndim, dim, x);
    ts_trace_put(t, "later", TS_F32, 2, good, x);
    assert_int_equal(ts_trace_write(t, path, NULL, 0, &err), TS_BAD);
    assert_string_equal(err.file, path);
    assert_string_equal(err.tensor, "o");
    if (strstr(err.reason, reason) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", err.reason, reason);
    ts_trace_free(t);
}

static void errors_are_kept(void **state)
{
    (void)state;
    folder_empty(&dir);
    assert_kept(TS_BF16, 2, (const int64_t[]){2, 2}, "another dtype");
    assert_kept(TS_F32, 2, (const int64_t[]){2, 3}, "row shape");
    assert_kept(TS_F32, 1, (const int64_t[]){2}, "row shape");
    assert_kept(TS_F32, 0, NULL, "row shape");
    assert_kept(TS_F32, 2, (const int64_t[]){-1, 2}, "dim 0 is -1");
    assert_kept(TS_F32, 2, (const int64_t[]){INT64_MAX, 2}, "dim 0");
    assert_kept(TS_F32, TS_MAX_DIMS + 1, (const int64_t[TS_MAX_DIMS + 1]){1}, "9 dims");
    assert_kept(TS_DTYPE_COUNT, 2, (const int64_t[]){2, 2}, "dtype");
    assert_kept(TS_F4, 1, (const int64_t[]){3}, "whole bytes");
    assert_int_equal(folder_count(&dir), 0);
    const int64_t huge[2] = {INT64_MAX, 0};
    ts_trace *t = ts_trace_new();
    ts_trace_put(t, "o", TS_F32, 2, huge, NULL);
    ts_trace_put(t, "o", TS_F32, 2, huge, NULL);
    assert_int_equal(ts_trace_write(t, path, NULL, 0, NULL), TS_BAD);
    ts_trace_free(t);
}

static void scalars_and_nothing(void **state)
{
    (void)state;
    const float x = 4;
    ts_trace_put(NULL, "x", TS_F32, 0, NULL, &x);
    ts_trace *t = ts_trace_new();
    assert_int_equal(ts_trace_count(t), 0);
    assert_null(ts_trace_find(t, "x"));
    assert_int_equal(ts_trace_write(t, path, NULL, 0, NULL), TS_OK);
    ts_trace_put(t, "x", TS_F32, 0, NULL, &x);
    assert_int_equal(ts_trace_find(t, "x")->size, 4);
    const ts_meta order = {"order", "[]"};
    assert_int_equal(ts_trace_write(t, path, &order, 1, NULL), TS_BAD);
    assert_int_equal(ts_trace_write(t, "/nowhere/x", NULL, 0, NULL), TS_BAD);
    ts_trace_free(t);
    ts_trace_free(NULL);
}

static void bad_orders(void **state)
{
    (void)state;
    const uint8_t bytes[2] = {1, 2};
    const ts_tensor tensors[] = {{"a", TS_U8, 1, {1}, bytes, 1}, {"b", TS_U8, 1, {1}, bytes + 1, 1}};
    const struct {
        const char *order, *reason;
    } row[] = {
        {"[\"b\",\"a\"]", NULL},           {"", "ends too early"},
        {"{}", "must be a list"},          {"[\"a\"]", "1 of the 2"},
        {"[\"a\",\"a\"]", "twice"},        {"[\"a\",\"b\",\"a\"]", "more than the 2"},
        {"[\"a\",\"c\"]", "not a tensor"}, {"[\"a\",1]", "not a string"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const ts_meta meta = {"order", row[i].order};
        ts_safetensors *f;
        ts_error err = {0};
        const char **names = NULL;
        size_t n = 0;
        assert_int_equal(ts_safetensors_write(path, tensors, 2, &meta, 1, NULL), TS_OK);
        assert_int_equal(ts_safetensors_open(path, &f, NULL), TS_OK);
        assert_int_equal(ts_trace_order(f, &names, &n, &err), row[i].reason == NULL ? TS_OK : TS_BAD);
        if (row[i].reason != NULL && strstr(err.reason, row[i].reason) == NULL)
            fail_msg("\"%s\" lacks \"%s\"", err.reason, row[i].reason);
        if (row[i].reason == NULL)
            assert_string_equal(names[0], "b");
        free(names);
        ts_safetensors_close(f);
    }
}

static void file_order_without_metadata(void **state)
{
    (void)state;
    ts_safetensors *f;
    const char **names;
    size_t n;
    assert_int_equal(ts_safetensors_open("golden/external/rand-qwen35-dense-golden.safetensors", &f, NULL), TS_OK);
    assert_int_equal(ts_trace_order(f, &names, &n, NULL), TS_OK);
    assert_int_equal(n, ts_safetensors_count(f));
    for (size_t i = 0; i < n; i++)
        assert_ptr_equal(names[i], ts_safetensors_at(f, i)->name);
    free(names);
    ts_safetensors_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_execution_order),
        cmocka_unit_test(second_put_appends_rows),
        cmocka_unit_test(many_names),
        cmocka_unit_test(errors_are_kept),
        cmocka_unit_test(scalars_and_nothing),
        cmocka_unit_test(bad_orders),
        cmocka_unit_test(file_order_without_metadata),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
