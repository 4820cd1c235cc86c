/* touchstone run on a folder whose tokenizer is Kimi's tiktoken.model: it is found, and tokenizer.json goes before
 * it. The vocabulary is made here: printable characters, and two longer tokens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/scratch.h"
#include "format/json.h"
#include "tool.h"
#include "tools/capture.h"

#define GOLDEN "golden/external/rand-kimi-linear"

static capture got;

static void copy(const char *from, const char *to)
{
    char *text;
    size_t size;
    assert_int_equal(ts_read_file(from, &text, &size, NULL), TS_OK);
    folder_write(&dir, to, text, size);
    free(text);
}

static char digit(int bits)
{
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[bits & 63];
}

/* Character c has the id c - ' '; "lo" is 95, "he" is 96. */
static void make_model(void)
{
    char text[2048];
    int n = 0;
    folder_empty(&dir);
    copy(GOLDEN "-config.json", "config.json");
    copy(GOLDEN "-weights.safetensors", "model.safetensors");
    for (int c = ' '; c < ' ' + 95; c++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%c%c== %d\n", digit(c >> 2), digit(c << 4), c - ' ');
    snprintf(text + n, sizeof text - (size_t)n, "bG8= 95\naGU= 96\n");
    folder_text(&dir, "tiktoken.model", text);
    folder_text(&dir, "tokenizer_config.json", "{\"added_tokens_decoder\":{}}");
}

static void encodes(const char *model)
{
    static const int want[] = {96, 'l' - ' ', 95};
    if (capture_run(&got, ts_cmd_run, "run", "-m", model, "-p", "hello", "-n", "1", "-e", "ref32", "--json", NULL))
        fail_msg("exit %d %s", got.code, got.err);
    cJSON *o = cJSON_Parse(got.out);
    const cJSON *ids = cJSON_GetObjectItem(o, "prompt_ids");
    assert_int_equal(cJSON_GetArraySize(ids), 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(cJSON_GetArrayItem(ids, i)->valueint, want[i]);
    cJSON_Delete(o);
}

static void finds_tiktoken(void **state)
{
    (void)state;
    make_model();
    encodes(dir.path);
}

/* convert takes it along. */
static void in_a_gguf_file(void **state)
{
    (void)state;
    char path[FOLDER_PATH];
    make_model();
    folder_file(&dir, "x.gguf", path);
    if (capture_run(&got, ts_cmd_convert, "convert", dir.path, path, NULL))
        fail_msg("exit %d %s", got.code, got.err);
    encodes(path);
}

static void refuses(const char *file)
{
    const int code = capture_run(&got, ts_cmd_run, "run", "-m", dir.path, "-p", "hello", "-n", "1", NULL);
    assert_int_equal(code, TS_BAD);
    if (!strstr(got.err, file))
        fail_msg("got \"%s\", want %s", got.err, file);
}

static void precedence(void **state)
{
    (void)state;
    char path[FOLDER_PATH];
    make_model();
    folder_text(&dir, "tokenizer.json", "{}");
    refuses("tokenizer.json");
    assert_int_equal(remove(folder_file(&dir, "tokenizer.json", path)), 0);
    folder_text(&dir, "tiktoken.model", "nothing");
    refuses("tiktoken.model");
    assert_int_equal(remove(folder_file(&dir, "tiktoken.model", path)), 0);
    refuses("tokenizer.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds_tiktoken), cmocka_unit_test(in_a_gguf_file),
                                       cmocka_unit_test(precedence)};
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
