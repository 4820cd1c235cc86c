/* UTF-8 validation and streaming, NFC, and the byte map. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/byte_map.h"
#include "format/tokenizer.h"
#include "format/tokenizer_parts.h"

static size_t rule(unsigned b)
{
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255) ? b : 0;
}

static void byte_map_follows_the_rule(void **state)
{
    (void)state;
    unsigned others = 0;
    for (unsigned b = 0; b < 256; b++)
        assert_int_equal(ts_byte_map[b], rule(b) != 0 ? rule(b) : 0x100 + others++);
    assert_int_equal(others, 68);
    assert_int_equal(ts_byte_map[' '], 0x120);
    assert_int_equal(ts_byte_map['\n'], 0x10A);
}

/* The bytes of c as UTF-8 would spell it, in the given length (so also overlong forms and surrogates). */
static void spell(uint32_t c, int length, char out[4])
{
    static const unsigned lead[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (int i = length - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)(lead[length] | c);
}

static void every_code_point_has_one_spelling(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < 0x140000; c += c < 0x12000 || c >= 0x10F000 ? 1 : 61) {
        int length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        bool valid = c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);
        char text[4];
        spell(c, length, text);
        assert_int_equal(ts_utf8_check(text, (size_t)length, NULL, NULL, NULL), valid ? TS_OK : TS_BAD);
        for (int longer = length + 1; longer <= 4 && valid; longer++) {
            spell(c, longer, text);
            assert_int_equal(ts_utf8_check(text, (size_t)longer, NULL, NULL, NULL), TS_BAD);
        }
    }
}

static void bad_utf8_is_named_by_offset(void **state)
{
    (void)state;
    const struct {
        const char *text, *reason;
    } cases[] = {
        {"abc\x80", "byte 3 (0x80) starts no valid sequence"},
        {"\xC3\xA9\xED\xA0\x80", "byte 2 (0xed) starts no valid sequence"},
        {"a\xC0\x80", "byte 1 (0xc0)"},
        {"ab\xF4\x90\x80\x80", "byte 2 (0xf4)"},
        {"abcd\xE2\x82", "byte 4 (0xe2) starts a sequence cut off at the end"},
        {"\xFF", "byte 0 (0xff)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ts_error err = {0};
        char *out;
        size_t size;
        assert_int_equal(ts_nfc(cases[i].text, strlen(cases[i].text), &out, &size, &err), TS_BAD);
        assert_non_null(strstr(err.reason, cases[i].reason));
    }
}

/* Pushes text in steps of `step` bytes into an exact buffer; returns what came out, NUL terminated. */
static char *stream(const char *text, size_t size, size_t step)
{
    ts_utf8_stream s = {0};
    char *all = calloc(1, 3 * size + 8);
    size_t n = 0;
    assert_non_null(all);
    for (size_t i = 0; i < size; i += step) {
        size_t now = size - i < step ? size - i : step;
        char *out = malloc(3 * now + 4);
        assert_non_null(out);
        size_t written = ts_utf8_push(&s, text + i, now, out);
        assert_true(written <= 3 * now + 4);
        memcpy(all + n, out, written);
        n += written;
        free(out);
    }
    n += ts_utf8_flush(&s, all + n);
    all[n] = '\0';
    return all;
}

/* Each maximal part that cannot be completed becomes one U+FFFD, as the Unicode Standard (3.9) advises. */
static void streaming_replaces_what_is_invalid(void **state)
{
    (void)state;
#define R "\xEF\xBF\xBD"
    const struct {
        const char *in, *out;
    } cases[] = {
        {"plain", "plain"},
        {"na\xC3\xAF \xE2\x82\xAC \xF0\x9F\x99\x82!", "na\xC3\xAF \xE2\x82\xAC \xF0\x9F\x99\x82!"},
        {"\x80", R},
        {"\xE2\x82", R},
        {"\xF0\x9F\x99", R},
        {"\xF0\x9F\x99"
         "a",
         R "a"},
        {"\xE2\x82\xE2\x82\xAC", R "\xE2\x82\xAC"},
        {"\xED\xA0\x80", R R R},
        {"\xC0\xAF\xF8", R R R},
        {"\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64", "a" R R R "b" R "c" R R "d"},
    };
#undef R
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t step = 1; step < 6; step++) {
            char *out = stream(cases[i].in, strlen(cases[i].in), step);
            assert_string_equal(out, cases[i].out);
            free(out);
        }
}

static void incomplete_tail_is_held(void **state)
{
    (void)state;
    ts_utf8_stream s = {0};
    char out[16];
    assert_int_equal(ts_utf8_push(&s, "a\xE2\x82", 3, out), 1);
    assert_int_equal(ts_utf8_push(&s, "\xAC", 1, out), 3);
    assert_memory_equal(out, "\xE2\x82\xAC", 3);
    assert_int_equal(ts_utf8_flush(&s, out), 0);
    assert_int_equal(ts_utf8_push(&s, "\0", 1, out), 1);
    assert_int_equal(out[0], 0);
}

static void check_nfc(const char *in, const char *want)
{
    char *out;
    size_t size;
    assert_int_equal(ts_nfc(in, strlen(in), &out, &size, NULL), TS_OK);
    assert_int_equal(size, strlen(want));
    assert_string_equal(out, want);
    free(out);
}

static void nfc_composes_and_orders(void **state)
{
    (void)state;
    check_nfc("", "");
    check_nfc("ASCII \xC3\xA9", "ASCII \xC3\xA9");
    check_nfc("e\xCC\x81", "\xC3\xA9");
    check_nfc("a\xCC\x81\xCC\xA3"
              "b",
              "\xE1\xBA\xA1\xCC\x81"
              "b");                                                    /* U+0301 U+0323 change places */
    check_nfc("\xE2\x84\xAB", "\xC3\x85");                             /* Angstrom sign */
    check_nfc("\xE0\xA5\x98", "\xE0\xA4\x95\xE0\xA4\xBC");             /* U+0958 stays decomposed */
    check_nfc("\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", "\xED\x95\x9C"); /* Hangul L V T */
    check_nfc("\xEA\xB0\x80\xE1\x86\xA8", "\xEA\xB0\x81");             /* LV T */
    check_nfc("\xEA\xB0\x80\xE1\x86\xA7", "\xEA\xB0\x80\xE1\x86\xA7"); /* U+11A7 is not a T */
    check_nfc("\xEA\xB0\x80\xE1\x86\xA7\xE1\x86\xA8"
              "e\xCC\x81",
              "\xEA\xB0\x80\xE1\x86\xA7\xE1\x86\xA8\xC3\xA9");
    check_nfc("\xEF\xAC\x81", "\xEF\xAC\x81"); /* fi ligature: compatibility only */
}

/* The worst order for an exchange sort: a megabyte of marks, high classes first. */
static void nfc_of_a_megabyte_of_marks(void **state)
{
    (void)state;
    size_t pairs = 1 << 18, size;
    char *text = malloc(4 * pairs), *out;
    assert_non_null(text);
    for (size_t i = 0; i < pairs; i++)
        memcpy(text + 4 * i, "\xCC\x81\xCC\xA3", 4);
    assert_int_equal(ts_nfc(text, 4 * pairs, &out, &size, NULL), TS_OK);
    assert_int_equal(size, 4 * pairs);
    for (size_t i = 0; i < 2 * pairs; i++)
        assert_memory_equal(out + 2 * i, i < pairs ? "\xCC\xA3" : "\xCC\x81", 2);
    free(out);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(byte_map_follows_the_rule),   cmocka_unit_test(every_code_point_has_one_spelling),
        cmocka_unit_test(bad_utf8_is_named_by_offset), cmocka_unit_test(streaming_replaces_what_is_invalid),
        cmocka_unit_test(incomplete_tail_is_held),     cmocka_unit_test(nfc_composes_and_orders),
        cmocka_unit_test(nfc_of_a_megabyte_of_marks),
    };
    return cmocka_run_group_tests_name("unicode", tests, NULL, NULL);
}
