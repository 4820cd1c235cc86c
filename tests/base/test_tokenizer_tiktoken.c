/* Kimi's tokenizer on a vocabulary made here: the 256 bytes in a shuffled order, and a few longer tokens. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include "base/scratch.h"
#include "format/tokenizer.h"

static const char config[] = "{\"added_tokens_decoder\":{\"400\":{\"content\":\"[BOS]\",\"special\":true},"
                             "\"401\":{\"content\":\"<|im_end|>\"}}}";

static const char *const longer[] = {"lo", "he", "hel", "ll", "llo", "He", " w",
                                     "or", "12", "123", "ab", "bc",  "abc"};

static char text[1 << 14];

static int byte_rank(unsigned byte)
{
    return (int)(byte * 37 % 256);
}

static void put_line(const char *bytes, size_t n, int rank)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *to = text + strlen(text);
    for (size_t i = 0; i < n; i += 3) {
        unsigned b[3] = {0};
        for (size_t k = 0; k < 3 && i + k < n; k++)
            b[k] = (unsigned char)bytes[i + k];
        unsigned bits = b[0] << 16 | b[1] << 8 | b[2];
        for (size_t k = 0; k < 4; k++)
            *to++ = i + k > n ? '=' : digits[bits >> (18 - 6 * k) & 63];
    }
    snprintf(to, 16, " %d\n", rank);
}

static void make_vocabulary(void)
{
    text[0] = '\0';
    for (unsigned b = 0; b < 256; b++)
        put_line(&(char){(char)b}, 1, byte_rank(b));
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++)
        put_line(longer[i], strlen(longer[i]), 256 + (int)i);
}

static ts_status opened(const char *vocabulary, const char *json, ts_tokenizer **t, ts_error *err)
{
    char path[FOLDER_PATH];
    folder_write(&dir, "tiktoken.model", vocabulary, strlen(vocabulary));
    folder_write(&dir, "tokenizer_config.json", json, strlen(json));
    return ts_tokenizer_open(folder_file(&dir, "tiktoken.model", path), t, err);
}

/* `want` has ids; negative: the byte of that number. */
static void assert_ids(const ts_tokenizer *t, const char *s, const int *want, size_t n)
{
    int32_t *ids;
    size_t count;
    assert_int_equal(ts_tokenizer_encode(t, s, strlen(s), &ids, &count, NULL), TS_OK);
    for (size_t i = 0; i < n && i < count; i++)
        assert_int_equal(ids[i], want[i] < 0 ? byte_rank((unsigned)-want[i]) : want[i]);
    assert_int_equal(count, n);
    free(ids);
}

#define IDS(t, s, ...) \
    assert_ids(t, s, (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

static void encodes(void **state)
{
    (void)state;
    ts_tokenizer *t = NULL;
    ts_error err = {0};
    make_vocabulary();
    if (opened(text, config, &t, &err) != TS_OK)
        fail_msg("%s: %s", err.tensor, err.reason);
    assert_int_equal(ts_tokenizer_size(t), 402);
    IDS(t, "[BOS]lo<|im_end|>", 400, 256, 401);
    IDS(t, "hello", 258, 256); /* "lo" is before "ll": hel lo */
    IDS(t, "abc", 268);        /* ab, then abc */
    IDS(t, "loHe", 256, 261);  /* a capital begins a piece */
    IDS(t, "1234", 265, -'4'); /* at most three digits */
    IDS(t, " world", 262, 263, -'l', -'d');
    IDS(t, "lo\xe5\xa5\xbdlo", 256, -0xe5, -0xa5, -0xbd, 256); /* Han apart */
    char *many = calloc(1, 25002);
    int32_t *ids;
    size_t n;
    memset(many, 'x', 25001);
    assert_int_equal(ts_tokenizer_encode(t, many, 25001, &ids, &n, &err), TS_BAD);
    assert_int_equal(ts_tokenizer_encode(t, many, 25000, &ids, &n, &err), TS_OK);
    assert_int_equal(n, 25000);
    free(ids);
    free(many);
    ts_tokenizer_close(t);
}

static void assert_refused(const char *vocabulary, const char *json, const char *reason)
{
    ts_tokenizer *t;
    ts_error err = {0};
    assert_int_equal(opened(vocabulary, json, &t, &err), TS_BAD);
    if (strstr(err.reason, reason) == NULL)
        fail_msg("got \"%s\", want \"%s\"", err.reason, reason);
}

static void mistakes(void **state)
{
    (void)state;
    assert_refused("", config, "holds no tokens");
    assert_refused("QQ==\n", config, "line 1: is not \"base64 rank\"");
    assert_refused("QQ== \n", config, "line 1: is not \"base64 rank\"");
    assert_refused("QQ== 1\nQ?== 2\n", config, "line 2: is not base64");
    assert_refused("QQ= 1\n", config, "line 1: is not base64");
    assert_refused("QQ== x\n", config, "the rank is not a whole number");
    assert_refused("QQ== -1\n", config, "the rank is not a whole number");
    assert_refused("QQ== 16777216\n", config, "exceeds");
    assert_refused("QQ== 1\nQg== 1\n", config, "two tokens have the id 1");
    assert_refused("QQ== 400\n", config, "two tokens have the id 400");
    assert_refused("QQ== 1\n", "{}", "must be an object");
    assert_refused("QQ== 1\n", "{\"added_tokens_decoder\":{\"x\":{\"content\":\"y\"}}}", "is no id");
    assert_refused("QQ== 1\n", "{\"added_tokens_decoder\":{\"2\":{}}}", "has no content");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(encodes), cmocka_unit_test(mistakes)};
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
