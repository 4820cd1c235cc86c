/* Kimi's tokenizer in a GGUF file: the merges are those that llama.cpp's converter would write, and the file cuts
 * text as the folder does. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/scratch.h"
#include "convert_parts.h"
#include "format/tokenizer.h"

enum { V = 410 };

static const char *const longer[] = {"lo", "he", "hel", "ll", "llo", "He", " w",
                                     "or", "12", "123", "ab", "bc",  "abc"};

static char model[FOLDER_PATH], path[FOLDER_PATH];

static size_t put_line(char *to, const char *bytes, size_t n, int rank)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *at = to;
    for (size_t i = 0; i < n; i += 3) {
        unsigned b[3] = {0};
        for (size_t k = 0; k < 3 && i + k < n; k++)
            b[k] = (unsigned char)bytes[i + k];
        const unsigned bits = b[0] << 16 | b[1] << 8 | b[2];
        for (size_t k = 0; k < 4; k++)
            *at++ = i + k > n ? '=' : digits[bits >> (18 - 6 * k) & 63];
    }
    return (size_t)(at - to) + (size_t)sprintf(at, " %d\n", rank);
}

/* The 256 bytes in a shuffled order, a few longer tokens, two added ones. */
static void make_folder(void)
{
    static char text[1 << 14];
    size_t n = 0;
    for (unsigned b = 0; b < 256; b++)
        n += put_line(text + n, &(char){(char)b}, 1, (int)(b * 37 % 256));
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++)
        n += put_line(text + n, longer[i], strlen(longer[i]), 256 + (int)i);
    folder_write(&dir, "tiktoken.model", text, n);
    folder_text(&dir, "tokenizer_config.json",
                "{\"added_tokens_decoder\":{\"400\":{\"content\":\"[BOS]\"},"
                "\"401\":{\"content\":\"<|im_end|>\"}}}");
    folder_file(&dir, "tiktoken.model", model);
}

/* A GGUF file with nothing else in it. */
static void make_file(void)
{
    ts_gguf_out out = {0};
    ts_out file;
    ts_error err = {0};
    const ts_config c = {.V = V};
    make_folder();
    if (ts_convert_tiktoken(model, &c, &out, &err) != TS_OK)
        fail_msg("%s: %s", err.tensor, err.reason);
    assert_int_equal(ts_out_open(&file, folder_file(&dir, "t.gguf", path), NULL), TS_OK);
    assert_int_equal(ts_gguf_out_begin(&out, &file, NULL), TS_OK);
    assert_int_equal(ts_out_close(&file, TS_OK, NULL), TS_OK);
    ts_gguf_out_free(&out);
}

/* Strings of an array from `first` on. */
static void assert_texts(const ts_gguf *g, const char *key, uint64_t first, const char *const *want, uint64_t n)
{
    const ts_gguf_value *v = ts_gguf_get(g, key);
    assert_true(v != NULL && v->count >= first + n);
    const unsigned char *at = v->data;
    for (uint64_t i = 0; i < first + n; i++) {
        size_t size;
        const char *text = ts_gguf_text(&at, &size);
        if (i >= first && (size != strlen(want[i - first]) || memcmp(text, want[i - first], size) != 0))
            fail_msg("%s[%d]: \"%.*s\", want \"%s\"", key, (int)i, (int)size, text, want[i - first]);
    }
}

static void keys(void **state)
{
    (void)state;
    /* abc: of a b and b c the lower rank first; llo: l o is lower than l l. */
    static const char *const merges[] = {"l o", "h e", "he l", "l l", "l lo", "H e", "\xc4\xa0 w",
                                         "o r", "1 2", "12 3", "a b", "b c",  "ab c"};
    static const char *const tokens[] = {"lo", "he", "hel", "ll", "llo", "He", "\xc4\xa0w"};
    static const char *const added[] = {"[PAD399]", "[BOS]", "<|im_end|>", "[PAD402]"};
    ts_gguf *g;
    make_file();
    assert_int_equal(ts_gguf_open(path, &g, NULL), TS_OK);
    assert_int_equal(ts_gguf_get(g, "tokenizer.ggml.merges")->count, sizeof merges / sizeof *merges);
    assert_int_equal(ts_gguf_get(g, "tokenizer.ggml.tokens")->count, V);
    assert_texts(g, "tokenizer.ggml.merges", 0, merges, sizeof merges / sizeof *merges);
    assert_texts(g, "tokenizer.ggml.tokens", 256, tokens, sizeof tokens / sizeof *tokens);
    assert_texts(g, "tokenizer.ggml.tokens", 399, added, 4);
    const ts_gguf_value *type = ts_gguf_get(g, "tokenizer.ggml.token_type");
    assert_true(ts_gguf_number(type, 0) == 1 && ts_gguf_number(type, 268) == 1);
    assert_true(ts_gguf_number(type, 269) == 5 && ts_gguf_number(type, 400) == 3 && ts_gguf_number(type, 409) == 5);
    ts_gguf_close(g);
}

/* "xllo" and "abcbc" take merges that the list of merges does not have; "\xe4\xb8\xad" is Han, cut out by the
 * split. */
static void same_ids(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "hello world 12345 abc",      "Hello[BOS]xllo<|im_end|>lolo",
        "abcbc aabc bcabc",           "\xe4\xb8\xad\xe6\x96\x87 he\xcc\x81llo \xf0\x9f\x98\x80",
        "  \n\n\t x'll I'LL 1234567", "e\xcc\x81 \xc3\xa9"};
    ts_tokenizer *a, *b;
    ts_error err = {0};
    make_file();
    assert_int_equal(ts_tokenizer_open(model, &a, &err), TS_OK);
    if (ts_tokenizer_open(path, &b, &err) != TS_OK)
        fail_msg("%s: %s", err.tensor, err.reason);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int32_t *x, *y;
        size_t n, m;
        assert_int_equal(ts_tokenizer_encode(a, texts[i], strlen(texts[i]), &x, &n, &err), TS_OK);
        assert_int_equal(ts_tokenizer_encode(b, texts[i], strlen(texts[i]), &y, &m, &err), TS_OK);
        assert_int_equal(n, m);
        assert_memory_equal(x, y, n * sizeof *x);
        free(x);
        free(y);
    }
    for (int32_t id = 0; id < V; id++) {
        size_t n = 0, m = 0;
        const char *x = ts_tokenizer_bytes(a, id, &n), *y = ts_tokenizer_bytes(b, id, &m);
        assert_true((x == NULL) == (y == NULL) && (x == NULL || (n == m && memcmp(x, y, n) == 0)));
    }
    ts_tokenizer_close(a);
    ts_tokenizer_close(b);
}

static void too_many_ids(void **state)
{
    (void)state;
    ts_gguf_out out = {0};
    ts_error err = {0};
    const ts_config c = {.V = 401};
    make_folder();
    assert_int_equal(ts_convert_tiktoken(model, &c, &out, &err), TS_BAD);
    assert_string_equal(err.reason, "has ids up to 401, the model a vocabulary of 401");
    ts_gguf_out_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(keys), cmocka_unit_test(same_ids),
                                       cmocka_unit_test(too_many_ids)};
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
