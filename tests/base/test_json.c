/* format/json: what is accepted, what is refused and with which words, and that writes are atomic. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "folder.h"
#include "format/json.h"

static folder dir;

static int make_dir(void **state)
{
    (void)state;
    folder_make(&dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    folder_remove(&dir);
    return 0;
}

/* The text in a buffer of exactly its size, so that the sanitizer sees any read past it. */
static ts_status parse(const char *text, size_t size, cJSON **out, ts_error *err)
{
    char *exact = malloc(size + (size == 0));
    assert_non_null(exact);
    memcpy(exact, text, size);
    *out = NULL;
    ts_status status = ts_json_parse("x.json", exact, size, out, err);
    free(exact);
    return status;
}

static void assert_bad(const char *text, size_t size, const char *reason)
{
    cJSON *json;
    ts_error err = {0};
    assert_int_equal(parse(text, size, &json, &err), TS_BAD);
    assert_null(json);
    assert_string_equal(err.file, "x.json");
    if (strstr(err.reason, reason) == NULL)
        fail_msg("%.60s: reason \"%s\" lacks \"%s\"", text, err.reason, reason);
}

static void assert_good(const char *text)
{
    cJSON *json;
    ts_error err = {0};
    if (parse(text, strlen(text), &json, &err) != TS_OK)
        fail_msg("%.60s: %s", text, err.reason);
    cJSON_Delete(json);
}

static void accepts(void **state)
{
    (void)state;
    const char *const text[] = {
        "{}",
        " [ ] \r\n\t",
        "null",
        "0",
        "-0.5e+3",
        "[1,2.25,-3E-7,true,false,null]",
        "\"\"",
        "{\"a\":{\"a\":{\"a\":1}},\"A\":2}",
        "[{\"k\":1},{\"k\":1}]",
        "\"\\u00e9 \\\\u0000 \xC3\xA9 \xF0\x9F\x98\x80 \\ud83d\\ude00\"",
    };
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        assert_good(text[i]);
}

static void refuses(void **state)
{
    (void)state;
    const struct {
        const char *text, *reason;
    } bad[] = {
        {"", "ends too early"},
        {"  ", "ends too early"},
        {"{\"a\":", "ends too early"},
        {"{} x", "unexpected"},
        {"{} {}", "not JSON"},
        {"[1,]", "not JSON"},
        {"{\"a\":1,}", "not JSON"},
        {"{'a':1}", "unexpected"},
        {"[1 2]", "not JSON"},
        {"tru", "not JSON"},
        {"truefalse", "not JSON"},
        {"NaN", "unexpected"},
        {"Infinity", "unexpected"},
        {"// c\n1", "unexpected"},
        {"\xEF\xBB\xBF{}", "unexpected"},
        {"01", "malformed number"},
        {"-", "malformed number"},
        {"1.", "malformed number"},
        {".5", "unexpected"},
        {"1e", "malformed number"},
        {"+1", "unexpected"},
        {"-01", "malformed number"},
        {"0x10", "unexpected"},
        {"\"a", "unterminated string"},
        {"\"a\\", "unterminated"},
        {"\"\\", "unterminated"},
        {"\"\\q\"", "unknown escape"},
        {"\"\\ud800\"", "not JSON"},
        {"\"\\u12\"", "not JSON"},
        {"\"\\u0000\"", "escaped NUL"},
        {"\"a\nb\"", "control"},
        {"\"\xC0\x80\"", "invalid UTF-8"},
        {"\"\xED\xA0\x80\"", "invalid UTF-8"},
        {"\"\xF4\x90\x80\x80\"", "invalid UTF-8"},
        {"\"\xE2\x82\"", "invalid UTF-8"},
        {"\"\xFF\"", "invalid UTF-8"},
        {"\"\xE0\x80\x80\"", "invalid UTF-8"},
        {"\"\xF0\x80\x80\x80\"", "invalid UTF-8"},
        {"\"\xC3", "invalid UTF-8"},
        {"}", "not JSON"},
        {"]]]][[[[", "not JSON"},
        {"[}", "not JSON"},
        {"{\"a\":1,\"a\":1}", "duplicate key"},
        {"[[{\"b\":{\"a\":1,\"c\":2,\"a\":1}}]]", "duplicate key"},
        {"{\"a\":1,\"\\u0061\":1}", "duplicate key"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_bad(bad[i].text, strlen(bad[i].text), bad[i].reason);
    assert_bad("{}\0", 3, "NUL");
    assert_bad("\"a\0b\"", 5, "NUL");
    assert_bad("\"\\\0\"", 4, "unknown escape");
}

static void duplicate_key_is_named(void **state)
{
    (void)state;
    cJSON *json;
    ts_error err = {0};
    const char *text = "{\"x\":[{\"dim\":1,\"dim\":2}]}";
    assert_int_equal(parse(text, strlen(text), &json, &err), TS_BAD);
    assert_string_equal(err.tensor, "dim");
}

static void nest(char *text, int depth, char open, char close)
{
    memset(text, open, (size_t)depth);
    memset(text + depth, close, (size_t)depth);
    text[2 * depth] = '\0';
}

static void nesting_limit(void **state)
{
    (void)state;
    char text[2 * 2000 + 1];
    nest(text, 64, '[', ']');
    assert_good(text);
    nest(text, 65, '[', ']');
    assert_bad(text, strlen(text), "deeper than 64");
    nest(text, 2000, '[', ']');
    assert_bad(text, strlen(text), "deeper than 64");
    assert_bad(text, 2000, "deeper than 64");
}

/* Every prefix of a document and every byte of it replaced: TS_OK or TS_BAD, nothing else. */
static void mangled(void **state)
{
    (void)state;
    const char good[] = "{\"a\":[1,-2.5e3,\"x\\u00e9\xC3\xA9\"],\"b\":{\"c\":null,\"d\":true}}";
    const char poison[] = "\0\"9}{[]:,\\u-e.\x80\xFF\n t";
    char text[sizeof good];
    cJSON *json;
    for (size_t n = 0; n < sizeof good - 1; n++) {
        assert_int_equal(parse(good, n, &json, NULL), TS_BAD);
        for (size_t p = 0; p < sizeof poison; p++) {
            memcpy(text, good, sizeof good);
            text[n] = poison[p];
            ts_status status = parse(text, sizeof good - 1, &json, NULL);
            assert_true(status == TS_OK || status == TS_BAD);
            assert_int_equal(status == TS_OK, json != NULL);
            cJSON_Delete(json);
        }
    }
}

/* Many keys in one object: time must grow like n log n. */
static void many_keys(void **state)
{
    (void)state;
    enum { KEYS = 300000 };
    char *text = malloc((size_t)KEYS * 16 + 3), *p = text;
    assert_non_null(text);
    *p++ = '{';
    for (int i = 0; i < KEYS; i++)
        p += sprintf(p, "\"k%d\":%d,", i, i % 10);
    strcpy(p - 1, "}");
    clock_t start = clock();
    assert_good(text);
    assert_true(clock() - start < 20 * CLOCKS_PER_SEC);
    memcpy(text + 1, "\"k1\"", 4); /* was "k0" */
    assert_bad(text, strlen(text), "duplicate key");
    free(text);
}

static void too_many_values(void **state)
{
    (void)state;
    size_t n = 8100000;
    char *text = malloc(n + 1);
    assert_non_null(text);
    for (size_t i = 0; i < n; i++)
        text[i] = i % 2 == 0 ? '1' : ',';
    text[0] = '[';
    text[n - 1] = ']';
    text[n] = '\0';
    assert_bad(text, n, "more than 4,000,000 values");
    free(text);
}

static cJSON *object(const char *text)
{
    cJSON *json;
    assert_int_equal(parse(text, strlen(text), &json, NULL), TS_OK);
    return json;
}

static void integers(void **state)
{
    (void)state;
    ts_error err = {0};
    int64_t x = -1;
    cJSON *o = object(
        "{\"a\":7,\"A\":8,\"f\":1.5,\"s\":\"7\",\"n\":null,\"big\":9007199254740992,\"most\":9007199254740991,"
        "\"least\":-9007199254740991,\"huge\":1e300,\"inf\":1e999,\"e\":2e3}");
    assert_int_equal(ts_json_int("f", o, "a", 0, 10, &x, &err), TS_OK);
    assert_int_equal(x, 7);
    assert_int_equal(ts_json_int("f", o, "e", 0, 5000, &x, &err), TS_OK);
    assert_int_equal(x, 2000);
    assert_int_equal(ts_json_int("f", o, "most", 0, INT64_MAX, &x, &err), TS_OK);
    assert_true(x == 9007199254740991);
    assert_int_equal(ts_json_int("f", o, "least", INT64_MIN, 0, &x, &err), TS_OK);
    assert_true(x == -9007199254740991);
    const char *const bad[] = {"f", "s", "n", "big", "huge", "inf", "absent"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err = (ts_error){0};
        assert_int_equal(ts_json_int("f", o, bad[i], INT64_MIN, INT64_MAX, &x, &err), TS_BAD);
        assert_string_equal(err.file, "f");
        assert_string_equal(err.tensor, bad[i]);
        assert_true(err.reason[0] != '\0');
    }
    assert_int_equal(ts_json_int("f", o, "a", 8, 9, &x, &err), TS_BAD);
    assert_non_null(strstr(err.reason, "outside 8..9"));
    x = 5;
    assert_int_equal(ts_json_opt_int("f", o, "absent", 0, 9, &x, &err), TS_OK);
    assert_int_equal(ts_json_opt_int("f", o, "n", 0, 9, &x, &err), TS_OK);
    assert_int_equal(x, 5);
    assert_int_equal(ts_json_opt_int("f", o, "s", 0, 9, &x, &err), TS_BAD);
    cJSON_Delete(o);
}

static void other_members(void **state)
{
    (void)state;
    ts_error err = {0};
    double d = 3;
    bool b = true;
    const char *s = NULL;
    cJSON *o = object("{\"d\":0.1,\"inf\":1e999,\"b\":false,\"s\":\"t\",\"n\":null}"), *list = object("[1]");
    assert_int_equal(ts_json_double("f", o, "d", &d, &err), TS_OK);
    assert_true(d >= 0.1 && d <= 0.1);
    assert_int_equal(ts_json_double("f", o, "inf", &d, &err), TS_BAD);
    assert_int_equal(ts_json_double("f", o, "s", &d, &err), TS_BAD);
    assert_int_equal(ts_json_opt_double("f", o, "n", &d, &err), TS_OK);
    assert_int_equal(ts_json_opt_bool("f", o, "b", &b, &err), TS_OK);
    assert_false(b);
    assert_int_equal(ts_json_opt_bool("f", o, "absent", &b, &err), TS_OK);
    assert_int_equal(ts_json_opt_bool("f", o, "d", &b, &err), TS_BAD);
    assert_int_equal(ts_json_string("f", o, "s", &s, &err), TS_OK);
    assert_string_equal(s, "t");
    assert_int_equal(ts_json_string("f", o, "d", &s, &err), TS_BAD);
    assert_int_equal(ts_json_string("f", o, "S", &s, &err), TS_BAD);
    assert_int_equal(ts_json_string("f", list, "s", &s, &err), TS_BAD);
    assert_int_equal(ts_json_string("f", NULL, "s", &s, &err), TS_BAD);
    cJSON_Delete(o);
    cJSON_Delete(list);
}

static void u64_strings(void **state)
{
    (void)state;
    const struct {
        const char *text;
        ts_status status;
        uint64_t value;
    } row[] = {
        {"0", TS_OK, 0},
        {"18446744073709551615", TS_OK, UINT64_MAX},
        {"18446744073709551616", TS_BAD, 0},
        {"99999999999999999999999999", TS_BAD, 0},
        {"0xFFFFFFFFFFFFFFFF", TS_OK, UINT64_MAX},
        {"0xabc", TS_OK, 0xabc},
        {"0x10000000000000000", TS_BAD, 0},
        {"0x", TS_BAD, 0},
        {"", TS_BAD, 0},
        {"-1", TS_BAD, 0},
        {" 1", TS_BAD, 0},
        {"1a", TS_BAD, 0},
        {"0xg", TS_BAD, 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        cJSON *o = cJSON_CreateObject();
        uint64_t x = 0;
        cJSON_AddStringToObject(o, "seed", row[i].text);
        assert_int_equal(ts_json_u64_string("f", o, "seed", &x, NULL), row[i].status);
        assert_true(x == row[i].value);
        cJSON_Delete(o);
    }
}

static void reads_files(void **state)
{
    (void)state;
    char path[FOLDER_PATH], *text = NULL;
    size_t size = 9;
    ts_error err = {0};
    cJSON *json;
    folder_text(&dir, "a.json", "{\"k\": 1}\n");
    assert_int_equal(ts_json_load(folder_file(&dir, "a.json", path), &json, &err), TS_OK);
    cJSON_Delete(json);
    folder_text(&dir, "empty", "");
    assert_int_equal(ts_read_file(folder_file(&dir, "empty", path), &text, &size, &err), TS_OK);
    assert_int_equal(size, 0);
    assert_int_equal(text[0], 0);
    free(text);
    assert_int_equal(ts_json_load(path, &json, &err), TS_BAD);
    assert_int_equal(ts_json_load(dir.path, &json, &err), TS_BAD);
    assert_non_null(strstr(err.reason, "folder"));
    assert_int_equal(ts_json_load(folder_file(&dir, "none", path), &json, &err), TS_BAD);
    assert_non_null(strstr(err.reason, "No such file"));
    assert_string_equal(err.file, path);
    assert_int_equal(mkfifo(folder_file(&dir, "pipe", path), 0600), 0);
    assert_int_equal(ts_json_load(path, &json, &err), TS_BAD); /* and does not wait */
    folder_text(&dir, "large", "1");
    assert_int_equal(truncate(folder_file(&dir, "large", path), 100000001), 0);
    assert_int_equal(ts_json_load(path, &json, &err), TS_BAD);
    assert_non_null(strstr(err.reason, "100000000"));
    folder_empty(&dir);
}

static void saves(void **state)
{
    (void)state;
    char path[FOLDER_PATH], *text;
    size_t size;
    cJSON *o = object("{\"k\":[1,2.5]}"), *back;
    assert_int_equal(ts_json_save(folder_file(&dir, "s.json", path), o, NULL), TS_OK);
    assert_int_equal(ts_json_save(path, o, NULL), TS_OK); /* replaces */
    assert_int_equal(folder_count(&dir), 1);
    assert_int_equal(ts_read_file(path, &text, &size, NULL), TS_OK);
    assert_true(size > 2 && text[size - 1] == '\n' && text[size - 2] == '}');
    free(text);
    assert_int_equal(ts_json_load(path, &back, NULL), TS_OK);
    assert_true(cJSON_Compare(o, back, 1));
    cJSON_Delete(back);
    cJSON_Delete(o);
    folder_empty(&dir);
}

static void failed_writes_leave_nothing(void **state)
{
    (void)state;
    char path[FOLDER_PATH], data[8192] = {0};
    ts_error err = {0};
    cJSON *o = object("{}");
    assert_int_equal(ts_json_save(folder_file(&dir, "none/x", path), o, &err), TS_BAD);
    assert_string_equal(err.file, path);
    assert_int_equal(ts_json_save(dir.path, o, &err), TS_BAD);
    folder_text(&dir, "old", "old");
    assert_int_equal(ts_json_save(folder_file(&dir, "old/x", path), o, &err), TS_BAD);
    assert_int_equal(ts_json_save("/dev/full", o, &err), TS_BAD);
    assert_non_null(strstr(err.reason, "No space"));
    assert_int_equal(ts_json_save("/dev/null", o, &err), TS_OK);
    struct stat st;
    assert_true(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
    cJSON_Delete(o);

    /* A limit on the file size stands in for a full disk. */
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 1000;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    ts_status status = ts_write_file(folder_file(&dir, "old", path), data, sizeof data, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(status, TS_BAD);
    assert_int_equal(folder_count(&dir), 1);
    char *text;
    size_t size;
    assert_int_equal(ts_read_file(path, &text, &size, NULL), TS_OK);
    assert_string_equal(text, "old");
    free(text);
    folder_empty(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts),
        cmocka_unit_test(refuses),
        cmocka_unit_test(duplicate_key_is_named),
        cmocka_unit_test(nesting_limit),
        cmocka_unit_test(mangled),
        cmocka_unit_test(many_keys),
        cmocka_unit_test(too_many_values),
        cmocka_unit_test(integers),
        cmocka_unit_test(other_members),
        cmocka_unit_test(u64_strings),
        cmocka_unit_test(reads_files),
        cmocka_unit_test(saves),
        cmocka_unit_test(failed_writes_leave_nothing),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
