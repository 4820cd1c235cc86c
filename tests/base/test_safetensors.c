/* format/safetensors: the goldens open, every broken rule is named, what is written opens again. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <time.h>
#include "folder.h"
#include "format/json.h"
#include "format/safetensors.h"

static folder dir;
static char path[FOLDER_PATH];

static int make_dir(void **state)
{
    (void)state;
    folder_make(&dir);
    folder_file(&dir, "x.safetensors", path);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    folder_remove(&dir);
    return 0;
}

/* A file of this header text and data_size zero bytes. */
static void put(const char *text, size_t size, size_t data_size)
{
    char *bytes = calloc(1, 8 + size + data_size);
    assert_non_null(bytes);
    for (int i = 0; i < 8; i++)
        bytes[i] = (char)((uint64_t)size >> (8 * i) & 255);
    memcpy(bytes + 8, text, size);
    folder_write(&dir, "x.safetensors", bytes, 8 + size + data_size);
    free(bytes);
}

static void assert_refused(const char *text, size_t data_size, const char *tensor, const char *reason)
{
    ts_safetensors *f = NULL;
    ts_error err = {0};
    put(text, strlen(text), data_size);
    assert_int_equal(ts_safetensors_open(path, &f, &err), TS_BAD);
    assert_null(f);
    assert_string_equal(err.file, path);
    if (strcmp(err.tensor, tensor) != 0 || strstr(err.reason, reason) == NULL)
        fail_msg("%.90s: got \"%s: %s\", want \"%s: %s\"", text, err.tensor, err.reason, tensor, reason);
}

static void assert_opens(const char *text, size_t data_size, size_t count)
{
    ts_safetensors *f = NULL;
    ts_error err = {0};
    put(text, strlen(text), data_size);
    if (ts_safetensors_open(path, &f, &err) != TS_OK)
        fail_msg("%.90s: %s", text, err.reason);
    assert_int_equal(ts_safetensors_count(f), count);
    ts_safetensors_close(f);
}

static void goldens_open(void **state)
{
    (void)state;
    ts_safetensors *f;
    assert_int_equal(ts_safetensors_open("golden/external/rand-qwen35-edge-golden.safetensors", &f, NULL), TS_OK);
    assert_string_equal(ts_safetensors_path(f), "golden/external/rand-qwen35-edge-golden.safetensors");
    assert_string_equal(ts_safetensors_meta(f, "dtype"), "float64");
    assert_null(ts_safetensors_meta(f, "Dtype"));
    const ts_tensor *t = ts_safetensors_find(f, "t131.logits");
    assert_non_null(t);
    assert_int_equal(t->dtype, TS_F64);
    assert_int_equal(t->ndim, 2);
    assert_int_equal(t->dim[0], 131);
    assert_int_equal(t->dim[1], 97);
    assert_int_equal(t->size, 131 * 97 * 8);
    assert_null(ts_safetensors_find(f, "t131.logit"));
    size_t size, data = 0;
    const char *bytes = ts_safetensors_bytes(f, &size);
    for (size_t i = 0; i < ts_safetensors_count(f); i++) {
        t = ts_safetensors_at(f, i);
        assert_ptr_equal(ts_safetensors_find(f, t->name), t);
        if (i > 0)
            assert_ptr_equal(t->data, (const char *)t[-1].data + t[-1].size);
        data += t->size;
    }
    assert_ptr_equal(ts_safetensors_at(f, 0)->data, bytes + size - data);
    ts_safetensors_close(f);
    ts_safetensors_close(NULL);
}

static void accepts(void **state)
{
    (void)state;
    assert_opens("{}", 0, 0);
    assert_opens("{}      ", 0, 0);
    assert_opens("{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4, 1);
    assert_opens("{\"__metadata__\":{},\"a\":{\"dtype\":\"F4\",\"shape\":[2],\"data_offsets\":[0,1]}}", 1, 1);
    assert_opens("{\"z\":{\"dtype\":\"F32\",\"shape\":[0,3],\"data_offsets\":[4,4]},\"a\":{\"shape\":[1,1,1,1,1,1,"
                 "1,4],\"data_offsets\""
                 ":[0,4],\"dtype\":\"U8\"},\"y\":{\"dtype\":\"I8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
                 4, 3);
    assert_opens(
        "{\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[4,5]},\"a\":{\"dtype\":\"F32\",\"shape\":[1],"
        "\"data_offsets\":[0,4]}}",
        5, 2);
}

#define ONE(dtype, shape, offsets) "{\"a\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
#define TWO(one, two)                                              \
    "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" one \
    "},\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" two "}}"

static void refuses(void **state)
{
    (void)state;
    const struct {
        const char *text;
        size_t data;
        const char *tensor, *reason;
    } bad[] = {
        {" {}", 0, "", "begin with '{'"},
        {"[]", 0, "", "begin with '{'"},
        {"", 0, "", "begin with '{'"},
        {"{} x", 0, "", "unexpected"},
        {"{}", 1, "", "trailing bytes"},
        {"{\"a\":1}", 0, "a", "must be an object"},
        {"{\"a\":[]}", 0, "a", "must be an object"},
        {"{\"__metadata__\":[]}", 0, "__metadata__", "must be an object"},
        {"{\"__metadata__\":{\"k\":1}}", 0, "__metadata__", "must be a string"},
        {"{\"__metadata__\":{\"k\":\"1\",\"k\":\"1\"}}", 0, "k", "duplicate key"},
        {"{\"a\":{\"shape\":[4],\"data_offsets\":[0,4]}}", 4, "a", "dtype: missing"},
        {"{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,4]}}", 4, "a", "shape must be a list"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4]}}", 4, "a", "data_offsets must be a list"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4],\"x\":1}}", 4, "a", "unknown key \"x\""},
        {"{\"a\":{\"dtype\":\"U8\",\"Shape\":[4],\"data_offsets\":[0,4]}}", 4, "a", "unknown key \"Shape\""},
        {ONE("\"U9\"", "[4]", "[0,4]"), 4, "a", "unknown dtype \"U9\""},
        {ONE("\"u8\"", "[4]", "[0,4]"), 4, "a", "unknown dtype"},
        {ONE("8", "[4]", "[0,4]"), 4, "a", "dtype: must be a string"},
        {ONE("\"U8\"", "[-4]", "[0,4]"), 4, "a", "shape[0]"},
        {ONE("\"U8\"", "[2,2.5]", "[0,4]"), 4, "a", "shape[1]"},
        {ONE("\"U8\"", "[1e300]", "[0,4]"), 4, "a", "shape[0]"},
        {ONE("\"U8\"", "[9007199254740992]", "[0,4]"), 4, "a", "shape[0]"},
        {ONE("\"U8\"", "[\"4\"]", "[0,4]"), 4, "a", "shape[0]"},
        {ONE("\"U8\"", "[null]", "[0,4]"), 4, "a", "shape[0]"},
        {ONE("\"U8\"", "4", "[0,4]"), 4, "a", "shape must be a list"},
        {ONE("\"U8\"", "[1,1,1,1,1,1,1,1,4]", "[0,4]"), 4, "a", "more than 8"},
        {ONE("\"U8\"", "[4294967296,4294967296]", "[0,4]"), 4, "a", "overflows"},
        {ONE("\"U8\"", "[0,4294967296,4294967296]", "[0,0]"), 0, "a", "overflows"},
        {ONE("\"F64\"", "[9007199254740991,1024]", "[0,4]"), 4, "a", "overflows"},
        {ONE("\"F4\"", "[3]", "[0,2]"), 2, "a", "12 bits are not whole bytes"},
        {ONE("\"F6_E2M3\"", "[3]", "[0,2]"), 2, "a", "18 bits"},
        {ONE("\"U8\"", "[4]", "[0,5]"), 5, "a", "do not hold the 4 bytes"},
        {ONE("\"U8\"", "[4]", "[4,0]"), 4, "a", "do not hold"},
        {ONE("\"U8\"", "[4]", "[0]"), 4, "a", "has 1"},
        {ONE("\"U8\"", "[4]", "[0,4,4]"), 4, "a", "more than 2"},
        {ONE("\"U8\"", "[4]", "[-1,3]"), 4, "a", "data_offsets[0]"},
        {ONE("\"U8\"", "[4]", "[0,4.5]"), 4, "a", "data_offsets[1]"},
        {ONE("\"U8\"", "[4]", "[1,5]"), 5, "a", "gap"},
        {ONE("\"U8\"", "[4]", "[0,4]"), 3, "a", "truncated"},
        {ONE("\"U8\"", "[4]", "[0,4]"), 5, "a", "trailing bytes"},
        {TWO("[0,4]", "[5,9]"), 9, "b", "gap"},
        {TWO("[0,4]", "[3,7]"), 8, "b", "overlap"},
        {TWO("[0,4]", "[0,4]"), 4, "b", "overlap"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},\"a\":{\"dtype\":\"U8\",\"shape\":[0],"
         "\"data_offsets\":[0,0]}}",
         0, "a", "duplicate key"},
        {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, "dtype",
         "duplicate key"},
        {"{\"a\xFF\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0, "", "UTF-8"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_refused(bad[i].text, bad[i].data, bad[i].tensor, bad[i].reason);
}

static void bad_files(void **state)
{
    (void)state;
    char other[FOLDER_PATH];
    ts_safetensors *f = NULL;
    ts_error err = {0};
    assert_int_equal(ts_safetensors_open(folder_file(&dir, "none", other), &f, &err), TS_BAD);
    assert_non_null(strstr(err.reason, "No such file"));
    assert_int_equal(ts_safetensors_open(dir.path, &f, &err), TS_BAD);
    assert_non_null(strstr(err.reason, "folder"));
    for (size_t n = 0; n < 8; n++) {
        folder_write(&dir, "x.safetensors", "\0\0\0\0\0\0\0", n);
        assert_int_equal(ts_safetensors_open(path, &f, &err), TS_BAD);
        assert_non_null(strstr(err.reason, "too few"));
    }
    const struct {
        const char *bytes, *reason;
    } row[] = {
        {"\3\0\0\0\0\0\0\0{}", "truncated"},
        {"\2\0\0\0\0\0\0\x80{}", "100,000,000"},
        {"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}", "100,000,000"},
        {"\x01\xE1\xF5\x05\0\0\0\0{}", "100,000,000"},
        {"\x00\xE1\xF5\x05\0\0\0\0{}", "truncated"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        folder_write(&dir, "x.safetensors", row[i].bytes, 10);
        assert_int_equal(ts_safetensors_open(path, &f, &err), TS_BAD);
        assert_non_null(strstr(err.reason, row[i].reason));
    }
}

static void touch_all(const ts_safetensors *f)
{
    unsigned sum = 0;
    for (size_t i = 0; i < ts_safetensors_count(f); i++) {
        const ts_tensor *t = ts_safetensors_at(f, i);
        for (size_t k = 0; k < t->size; k++)
            sum += ((const unsigned char *)t->data)[k];
    }
    assert_true(sum < 1u << 31);
}

static bool opens(const char *bytes, size_t size)
{
    ts_safetensors *f = NULL;
    folder_write(&dir, "x.safetensors", bytes, size);
    ts_status status = ts_safetensors_open(path, &f, NULL);
    assert_true(status == TS_OK || status == TS_BAD);
    if (status == TS_OK)
        touch_all(f);
    ts_safetensors_close(f);
    return status == TS_OK;
}

/* Every truncation is caught; every byte of a small file replaced is TS_OK or TS_BAD, and what
 * opens can be read to its end. */
static void mangled(void **state)
{
    (void)state;
    const uint16_t half[3] = {1, 2, 3};
    const uint8_t byte[2] = {4, 5};
    const ts_tensor t[] = {
        {"a.w", TS_BF16, 2, {1, 3}, half, sizeof half},
        {"b", TS_U8, 1, {2}, byte, sizeof byte},
    };
    const ts_meta meta = {"k", "v"};
    char *good, *bytes;
    size_t size;
    assert_int_equal(ts_safetensors_write(path, t, 2, &meta, 1, NULL), TS_OK);
    assert_int_equal(ts_read_file(path, &good, &size, NULL), TS_OK);
    for (size_t n = 0; n < size; n++)
        assert_false(opens(good, n));
    const char poison[] = "\0\"9}{[]:,1-e.\xFF \\";
    bytes = malloc(size);
    assert_non_null(bytes);
    size_t opened = 0;
    for (size_t n = 0; n < size; n++)
        for (size_t p = 0; p < sizeof poison - 1; p++) {
            memcpy(bytes, good, size);
            bytes[n] = poison[p];
            opened += opens(bytes, size);
        }
    assert_true(opened >= 8 * (sizeof poison - 1)); /* data bytes may be anything */
    free(bytes);
    free(good);
}

/* A hostile header of 100,000 tensors must open in n log n, and find must not be linear. */
static void many_tensors(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    ts_tensor *t = calloc(COUNT, sizeof *t);
    char(*name)[16] = calloc(COUNT, sizeof *name);
    assert_true(t != NULL && name != NULL);
    for (int i = 0; i < COUNT; i++) {
        snprintf(name[i], sizeof name[i], "t%d", i);
        t[i] = (ts_tensor){.name = name[i], .dtype = TS_U8, .ndim = 1, .dim = {1}, .data = name[i], .size = 1};
    }
    clock_t start = clock();
    ts_safetensors *f = NULL;
    assert_int_equal(ts_safetensors_write(path, t, COUNT, NULL, 0, NULL), TS_OK);
    assert_int_equal(ts_safetensors_open(path, &f, NULL), TS_OK);
    for (int i = 0; i < COUNT; i++)
        assert_non_null(ts_safetensors_find(f, name[i]));
    assert_true(clock() - start < 30 * CLOCKS_PER_SEC);
    ts_safetensors_close(f);
    free(name);
    free(t);
}

static void writes(void **state)
{
    (void)state;
    const float x[2][3] = {{1, 2, 3}, {4, 5, 6}};
    const uint8_t codes[3] = {1, 2, 3};
    const ts_tensor t[] = {
        {"z \"quoted\" \xC3\xA9", TS_F32, 2, {2, 3}, x, sizeof x},
        {"none", TS_I64, 2, {0, 7}, NULL, 0},
        {"a", TS_F4, 1, {6}, codes, sizeof codes},
        {"scalar", TS_F32, 0, {0}, x, 4},
    };
    const ts_meta meta[] = {{"order", "[]"}, {"a\n", "\x01"}};
    char *one, *two;
    size_t size, again;
    ts_safetensors *f;
    assert_int_equal(ts_safetensors_write(path, t, 4, meta, 2, NULL), TS_OK);
    assert_int_equal(ts_read_file(path, &one, &size, NULL), TS_OK);
    assert_int_equal(ts_safetensors_write(path, t, 4, meta, 2, NULL), TS_OK);
    assert_int_equal(ts_read_file(path, &two, &again, NULL), TS_OK);
    assert_int_equal(size, again);
    assert_memory_equal(one, two, size);
    assert_int_equal((unsigned char)one[0] % 8, 0);
    assert_memory_equal(one + 8, "{\"__metadata__\":{\"order\":", 25);
    assert_int_equal(ts_safetensors_open(path, &f, NULL), TS_OK);
    assert_int_equal(ts_safetensors_count(f), 4);
    for (size_t i = 0; i < 4; i++) {
        const ts_tensor *r = ts_safetensors_at(f, i);
        assert_string_equal(r->name, t[i].name);
        assert_int_equal(r->dtype, t[i].dtype);
        assert_int_equal(r->ndim, t[i].ndim);
        for (int d = 0; d < t[i].ndim; d++)
            assert_int_equal(r->dim[d], t[i].dim[d]);
        assert_int_equal(r->size, t[i].size);
        if (t[i].size > 0)
            assert_memory_equal(r->data, t[i].data, t[i].size);
    }
    assert_string_equal(ts_safetensors_meta(f, "a\n"), "\x01");
    ts_safetensors_close(f);
    free(one);
    free(two);
}

static void copy_out(void *context, size_t i, uint64_t offset, void *piece, size_t size)
{
    const ts_tensor *t = context;
    assert_true(offset % 5 == 0 && size <= 5 && offset + size <= t[i].size);
    memcpy(piece, (const char *)t[i].data + offset, size);
}

/* Data that come in pieces make the same file as data that lie there. */
static void streams(void **state)
{
    (void)state;
    const uint8_t x[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    ts_tensor t[] = {{"a", TS_F32, 2, {2, 2}, x, 16}, {"none", TS_U8, 1, {0}, NULL, 0}, {"b", TS_U8, 1, {5}, x, 5}};
    const ts_meta meta = {"k", "v"};
    char *one, *two;
    size_t size, again;
    assert_int_equal(ts_safetensors_write(path, t, 3, &meta, 1, NULL), TS_OK);
    assert_int_equal(ts_read_file(path, &one, &size, NULL), TS_OK);
    assert_int_equal(ts_safetensors_stream(path, t, 3, &meta, 1, copy_out, t, 5, NULL), TS_OK);
    assert_int_equal(ts_read_file(path, &two, &again, NULL), TS_OK);
    assert_int_equal(size, again);
    assert_memory_equal(one, two, size);
    free(one);
    free(two);
}

static void write_refuses(void **state)
{
    (void)state;
    const float x[4] = {0};
    const ts_tensor good = {"a", TS_F32, 1, {4}, x, 16};
    const struct {
        ts_tensor t;
        const char *reason;
    } bad[] = {
        {{"t", TS_F32, 1, {3}, x, 16}, "do not hold"},
        {{"t", TS_F32, 1, {-1}, x, 16}, "shape[0]"},
        {{"t", TS_F32, 9, {1, 1, 1, 1, 1, 1, 1, 1}, x, 4}, "9 dims"},
        {{"t", TS_F32, -1, {1}, x, 4}, "-1 dims"},
        {{"t", TS_DTYPE_COUNT, 1, {4}, x, 16}, "dtype"},
        {{"t", TS_F32, 1, {4}, NULL, 16}, "no data"},
        {{"a", TS_F32, 1, {4}, x, 16}, "duplicate key"},
        {{"__metadata__", TS_F32, 1, {4}, x, 16}, "must be a string"},
        {{"\xFF", TS_F32, 1, {4}, x, 16}, "UTF-8"},
    };
    folder_empty(&dir);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const ts_tensor t[2] = {good, bad[i].t};
        ts_error err = {0};
        assert_int_equal(ts_safetensors_write(path, t, 2, NULL, 0, &err), TS_BAD);
        if (strstr(err.reason, bad[i].reason) == NULL)
            fail_msg("row %zu: \"%s\" lacks \"%s\"", i, err.reason, bad[i].reason);
    }
    const ts_meta twice[] = {{"k", "1"}, {"k", "2"}};
    assert_int_equal(ts_safetensors_write(path, &good, 1, twice, 2, NULL), TS_BAD);
    assert_int_equal(folder_count(&dir), 0);
    assert_int_equal(ts_safetensors_write("/dev/full", &good, 1, NULL, 0, NULL), TS_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goldens_open), cmocka_unit_test(accepts), cmocka_unit_test(refuses),
        cmocka_unit_test(bad_files),    cmocka_unit_test(mangled), cmocka_unit_test(many_tensors),
        cmocka_unit_test(writes),       cmocka_unit_test(streams), cmocka_unit_test(write_refuses),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
