/* Splitting: pieces of known texts, White_Space as Oniguruma has it, gaps and empty matches,
 * refusal of what PCRE2 reads differently, and an end to hostile patterns. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/tokenizer_parts.h"

static const char QWEN35[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}|"
                             " ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
static const char QWEN2[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"
                            " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

typedef struct {
    char text[1024]; /* the pieces, a '|' after each */
    size_t n;
} joined;

static ts_status join(void *context, const char *piece, size_t size, ts_error *err)
{
    joined *j = context;
    (void)err;
    assert_true(size > 0 && j->n + size + 1 < sizeof j->text);
    memcpy(j->text + j->n, piece, size);
    j->n += size;
    j->text[j->n++] = '|';
    return TS_OK;
}

static ts_split *compile(const char *regex)
{
    ts_split *s = NULL;
    ts_error err = {0};
    if (ts_split_compile("x.json", regex, &s, &err) != TS_OK)
        fail_msg("%s: %s", regex, err.reason);
    return s;
}

static void assert_pieces(const char *regex, const char *text, const char *want)
{
    ts_split *s = compile(regex);
    joined j = {.n = 0};
    assert_int_equal(ts_split_text(s, text, strlen(text), join, &j, NULL), TS_OK);
    j.text[j.n] = '\0';
    assert_string_equal(j.text, want);
    ts_split_free(s);
}

static void qwen_pieces(void **state)
{
    (void)state;
    assert_pieces(QWEN35, "", "");
    assert_pieces(QWEN35, "Hello world", "Hello| world|");
    assert_pieces(QWEN35, "I'LL don't we'Ve", "I|'LL| don|'t| we|'Ve|");
    assert_pieces(QWEN35, "'\xC5\xBFtest", "'\xC5\xBF|test|"); /* U+017F folds to s */
    assert_pieces(QWEN35, "2024 x1", "2|0|2|4| x|1|");
    assert_pieces(QWEN35, "a  b\t\tc  ", "a| | b|\t|\tc|  |");
    assert_pieces(QWEN35, "x \r\n\r\n  y", "x| \r\n\r\n| | y|");
    assert_pieces(QWEN35, "f(x);\n\ny", "f|(x|);\n\n|y|");
    assert_pieces(QWEN35, " !\xC2\xA0!", " !|\xC2\xA0|!|");
    assert_pieces(QWEN35,
                  "\xCC\x81\xCC\x81"
                  "1",
                  "\xCC\x81\xCC\x81|1|");
}

/* Only the newer pattern keeps a mark with its letter. */
static void marks_tell_the_patterns_apart(void **state)
{
    (void)state;
    const char text[] = "\xE0\xA4\x95\xE0\xA4\xBF\xE0\xA4\x95"; /* KA, vowel sign I (Mc), KA */
    assert_pieces(QWEN35, text, "\xE0\xA4\x95\xE0\xA4\xBF\xE0\xA4\x95|");
    assert_pieces(QWEN2, text, "\xE0\xA4\x95|\xE0\xA4\xBF\xE0\xA4\x95|");
}

static void gaps_are_pieces(void **state)
{
    (void)state;
    assert_pieces("\\p{N}+", "ab12cd3", "ab|12|cd|3|");
    assert_pieces("zzz", "ab", "ab|");
    assert_pieces("^b", "a\nb", "a\n|b|");
    assert_pieces("a$", "a\na", "a|\n|a|");
    assert_pieces("(?<=a)b", "abb", "a|b|b|");
    assert_pieces("a.", "a\nab", "a\n|ab|");
}

/* An empty match ends a gap; one right after the last match is passed over. */
static void empty_matches_move_on(void **state)
{
    (void)state;
    assert_pieces("x*", "aab", "a|a|b|");
    assert_pieces("x*", "axxb", "a|xx|b|");
    assert_pieces("", "\xC3\xA9\xE2\x82\xAC", "\xC3\xA9|\xE2\x82\xAC|");
    assert_pieces("(?=b)", "aabab", "aa|ba|b|");
}

static bool white_space(uint32_t c)
{
    return (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

static size_t put_utf8(uint32_t c, char *out)
{
    static const unsigned lead[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)(lead[n] | c);
    return n;
}

static ts_status count(void *context, const char *piece, size_t size, ts_error *err)
{
    (void)piece, (void)size, (void)err;
    ++*(int *)context;
    return TS_OK;
}

/* Matching "cc" with a pattern for one c gives two pieces if c matches and one gap if not. */
static void space_is_white_space(void **state)
{
    (void)state;
    static const char *const patterns[] = {"\\s",   "[\\s]",  "[^\\S]", "\\S",
                                           "[\\S]", "[^\\s]", "[\\sx]", "(?i:\\s)"};
    for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++) {
        ts_split *s = compile(patterns[k]);
        bool negated = k >= 3 && k <= 5;
        for (uint32_t c = 0; c < 0x110000; c += c < 0x3100 ? 1 : 1009) {
            char text[8];
            int pieces = 0;
            if ((c >= 0xD800 && c < 0xE000) || c == 'x')
                continue;
            size_t n = put_utf8(c, text);
            memcpy(text + n, text, n);
            assert_int_equal(ts_split_text(s, text, 2 * n, count, &pieces, NULL), TS_OK);
            if (pieces != (white_space(c) != negated ? 2 : 1))
                fail_msg("%s: U+%04X gives %d pieces", patterns[k], (unsigned)c, pieces);
        }
        ts_split_free(s);
    }
}

static void what_pcre2_reads_differently_is_refused(void **state)
{
    (void)state;
    const struct {
        const char *regex, *reason;
    } cases[] = {
        {"\\w+", "escape at byte 0"},
        {"a\\b", "escape at byte 1"},
        {"\\C", "escape"},
        {"\\R", "escape"},
        {"(a)\\1", "escape"},
        {"\\", "escape"},
        {"\\p{Han}", "general category"},
        {"\\p{Alpha}", "general category"},
        {"\\p", "general category"},
        {"\\p{", "general category"},
        {"\\pL", "general category"},
        {"[\\p{L}&&[^\\p{Lu}]]", "intersection"},
        {"[a[b]]", "class inside"},
        {"[[:alpha:]]", "class inside"},
        {"[]a]", "starts with ]"},
        {"[^]a]", "starts with ]"},
        {"[\\s-z]", "ends in a set"},
        {"[+-\\s]", "ends in a set"},
        {"[ab", "without end"},
        {"[", "without end"},
        {"[\\", "escape"},
        {"(?m:a.b)", "group"},
        {"(?i)a", "group"},
        {"(?<n>a)", "group"},
        {"(*COMMIT)a", "group"},
        {"(?", "group"},
        {"a{,3}", "a { that"},
        {"a{", "a { that"},
        {"{", "a { that"},
        {"a{2}+", "interval"},
        {"a{2}?", "interval"},
        {"a{1001}", "1000"},
        {"a{1,99999999999999999999}", "1000"},
        {"(?i:ss)", "under (?i:"},
        {"(?i:oFf)", "under (?i:"},
        {"(?i:\xC3\x9F)", "under (?i:"},
        {"(?i:[\xC3\x9F])", "under (?i:"},
        {"(?i:(?:a)\\x{df})", "under (?i:"},
        {"\\x{110000}", "too large"},
        {"\\x{", "\\x escape"},
        {"(a", "parenthes"},
        {"a)", "parenthes"},
        {"*a", "quantifier"},
        {"(?<=a+)b", "lookbehind"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ts_split *s;
        ts_error err = {0};
        if (ts_split_compile("x.json", cases[i].regex, &s, &err) != TS_BAD)
            fail_msg("%s: accepted", cases[i].regex);
        assert_string_equal(err.file, "x.json");
        if (strstr(err.reason, cases[i].reason) == NULL)
            fail_msg("%s: reason \"%s\" lacks \"%s\"", cases[i].regex, err.reason, cases[i].reason);
    }
}

static void what_both_read_alike_is_accepted(void **state)
{
    (void)state;
    assert_pieces("[\\-\\]x-]+", "a-]xb", "a|-]x|b|");
    assert_pieces("[-\\s]+", "a- b", "a|- |b|");
    assert_pieces("[\\s-]+", "a- b", "a|- |b|");
    assert_pieces("\\p{N}{1,3}", "12345", "123|45|");
    assert_pieces("(?>a|ab)c", "abc", "abc|");
    assert_pieces("\\d+", "x1\xD9\xA3y", "x|1\xD9\xA3|y|"); /* U+0663 */
    assert_pieces("\\x41\\x{42}", "xABx", "x|AB|x|");
    assert_pieces("\\P{L}\\p{^L}", "a12b", "a|12|b|");
    assert_pieces("(?i:s(?:x)s)ss", "SXSSSS ssSXsss", "SXSSSS ss|SXsss|");
    assert_pieces("a{1,2}?", "aa", "a|a|");
}

/* Every pattern here takes at least quadratic time; a budget that grows with the text ends it. */
static void hostile_patterns_end(void **state)
{
    (void)state;
    static const char *const patterns[] = {"(a+)+$",
                                           "(a*)*b",
                                           "a*b",
                                           "(?:a|aa)+$",
                                           "(?=a*b)a|a",
                                           "a*+b|a*+c|c",
                                           "(?:(?:a{1000}){9}){9}b|a",
                                           "(?<![b])a*c",
                                           "(?:(?:a?){20}){20}b"};
    const size_t size = 1 << 16;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, 'a', size);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        ts_split *s = compile(patterns[i]);
        ts_error err = {0};
        int pieces = 0;
        text[size - 1] = '!';
        if (ts_split_text(s, text, size, count, &pieces, &err) != TS_BAD)
            fail_msg("%s: accepted", patterns[i]);
        if (strstr(err.reason, "too much backtracking") == NULL)
            fail_msg("%s: %s", patterns[i], err.reason);
        ts_split_free(s);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(qwen_pieces),
        cmocka_unit_test(marks_tell_the_patterns_apart),
        cmocka_unit_test(gaps_are_pieces),
        cmocka_unit_test(empty_matches_move_on),
        cmocka_unit_test(space_is_white_space),
        cmocka_unit_test(what_pcre2_reads_differently_is_refused),
        cmocka_unit_test(what_both_read_alike_is_accepted),
        cmocka_unit_test(hostile_patterns_end),
    };
    return cmocka_run_group_tests_name("split", tests, NULL, NULL);
}
