#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "num/sha256.h"

static const char of_empty[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static const char of_abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char of_million_a[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

static void known_answers(void **state)
{
    (void)state;
    char hex[TS_SHA256_HEX];
    ts_sha256("", 0, hex);
    assert_string_equal(hex, of_empty);
    ts_sha256(NULL, 0, hex);
    assert_string_equal(hex, of_empty);
    ts_sha256("abc", 3, hex);
    assert_string_equal(hex, of_abc);
}

static void pieces_add_up(void **state)
{
    (void)state;
    char hex[TS_SHA256_HEX];
    ts_sha256_ctx *c = ts_sha256_new();
    assert_non_null(c);
    ts_sha256_add(c, "a", 1);
    ts_sha256_add(c, NULL, 0);
    ts_sha256_add(c, "bc", 2);
    ts_sha256_end(c, hex);
    assert_string_equal(hex, of_abc);
    c = ts_sha256_new();
    assert_non_null(c);
    ts_sha256_end(c, hex);
    assert_string_equal(hex, of_empty);
}

/* A million bytes: many reads, the last one partial. */
static void a_file_is_streamed(void **state)
{
    (void)state;
    char path[] = "/tmp/test_sha256_XXXXXX", hex[TS_SHA256_HEX], block[1000];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "wb");
    assert_non_null(f);
    memset(block, 'a', sizeof block);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(fwrite(block, 1, sizeof block, f), sizeof block);
    assert_int_equal(fclose(f), 0);
    ts_error err;
    ts_status status = ts_sha256_file(path, hex, &err);
    unlink(path);
    assert_int_equal(status, TS_OK);
    assert_string_equal(hex, of_million_a);
}

static void unreadable_files_are_named(void **state)
{
    (void)state;
    char hex[TS_SHA256_HEX] = "x";
    ts_error err;
    assert_int_equal(ts_sha256_file("golden/no-such-file", hex, &err), TS_BAD);
    assert_string_equal(err.file, "golden/no-such-file");
    assert_non_null(strstr(err.reason, "cannot open"));
    assert_string_equal(hex, "");
    assert_int_equal(ts_sha256_file("golden", hex, &err), TS_BAD);
    assert_string_equal(err.file, "golden");
    assert_non_null(strstr(err.reason, "cannot read"));
    assert_string_equal(hex, "");
    assert_int_equal(ts_sha256_file("golden/no-such-file", hex, NULL), TS_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(pieces_add_up),
        cmocka_unit_test(a_file_is_streamed),
        cmocka_unit_test(unreadable_files_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
