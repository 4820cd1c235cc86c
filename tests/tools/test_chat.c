/* ChatML prompts against those in the goldens, which the original template made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/folder.h"
#include "chat.h"
#include "format/json.h"
#include "format/safetensors.h"
#include "tool.h"
#include "tools/capture.h"

#define TINY "golden/models/tiny-qwen35"

static capture got;
static const char *const goldens[] = {"chat0", "chat1", "chatA", "chatB", "chatC"};
enum { GOLDENS = sizeof goldens / sizeof *goldens, MESSAGE = 4096 };

static ts_safetensors *open_golden(const char *name)
{
    char path[128];
    ts_safetensors *f = NULL;
    snprintf(path, sizeof path, "golden/external/tiny-qwen35-%s.safetensors", name);
    assert_int_equal(ts_safetensors_open(path, &f, NULL), TS_OK);
    return f;
}

/* What stands between the tags of the user's turn. */
static void user_message(const char *prompt, char message[MESSAGE])
{
    static const char start[] = "<|im_start|>user\n", end[] = "<|im_end|>\n<|im_start|>assistant\n";
    assert_ptr_equal(strstr(prompt, start), prompt);
    const char *from = prompt + sizeof start - 1, *to = strstr(from, end);
    assert_non_null(to);
    assert_true(to - from < MESSAGE);
    snprintf(message, MESSAGE, "%.*s", (int)(to - from), from);
}

static void assert_renders(const char *system, const char *user, bool think, const char *want)
{
    char *prompt = NULL;
    ts_error err = {0};
    if (ts_chat_render(system, user, think, &prompt, &err))
        fail_msg("%s", err.reason);
    assert_string_equal(prompt, want);
    free(prompt);
}

static void prompts_of_the_goldens(void **state)
{
    (void)state;
    for (int i = 0; i < GOLDENS; i++) {
        char message[MESSAGE], spaced[MESSAGE + 16];
        ts_safetensors *f = open_golden(goldens[i]);
        const char *prompt = ts_safetensors_meta(f, "prompt");
        assert_non_null(prompt);
        user_message(prompt, message);
        assert_renders(NULL, message, false, prompt);
        snprintf(spaced, sizeof spaced, "\n \t%s\xc2\xa0\r\n", message);
        assert_renders(NULL, spaced, false, prompt);
        ts_safetensors_close(f);
    }
}

static void turns(void **state)
{
    (void)state;
    assert_renders(NULL, "hi", true, "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\n");
    assert_renders("  Be brief.\n", "hi", true,
                   "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n"
                   "<|im_start|>assistant\n<think>\n");
    assert_renders("", "\xe3\x80\x80 a  b \xe2\x80\x89", false,
                   "<|im_start|>system\n<|im_end|>\n<|im_start|>user\na  b<|im_end|>\n"
                   "<|im_start|>assistant\n<think>\n\n</think>\n\n");
    assert_renders(NULL, " \n", true, "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n<think>\n");
    assert_renders(NULL, "\xe2\x80\x8b", true, /* a zero width space is no white space */
                   "<|im_start|>user\n\xe2\x80\x8b<|im_end|>\n<|im_start|>assistant\n<think>\n");
    assert_renders(NULL, "<tool_response>x", true,
                   "<|im_start|>user\n<tool_response>x<|im_end|>\n<|im_start|>assistant\n<think>\n");
    char *none = NULL;
    assert_int_equal(ts_chat_render(NULL, " <tool_response>x</tool_response>\n", true, &none, NULL), TS_BAD);
    assert_null(none);
}

/* The command renders, tokenises and goes on as the golden does. */
static void command(void **state)
{
    (void)state;
    for (int i = 0; i < GOLDENS; i++) {
        char message[MESSAGE];
        ts_safetensors *f = open_golden(goldens[i]);
        const ts_tensor *ids = ts_safetensors_find(f, "input_ids"), *greedy = ts_safetensors_find(f, "greedy_ids");
        const char *prompt = ts_safetensors_meta(f, "prompt");
        int n = (int)ids->dim[0];
        user_message(prompt, message);
        assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-m", TINY, "-p", message, "--chat", "--no-think",
                                     "-n", "2", "--profile", "exact", "--json", NULL),
                         TS_OK);
        cJSON *o = NULL;
        assert_int_equal(ts_json_parse("stdout", got.out, strlen(got.out), &o, NULL), TS_OK);
        assert_string_equal(cJSON_GetObjectItem(o, "prompt")->valuestring, prompt);
        const cJSON *mine = cJSON_GetObjectItem(o, "prompt_ids"), *more = cJSON_GetObjectItem(o, "ids");
        assert_int_equal(cJSON_GetArraySize(mine), n);
        for (int k = 0; k < n; k++)
            assert_int_equal(cJSON_GetArrayItem(mine, k)->valueint, ((const int32_t *)ids->data)[k]);
        for (int k = 0; k < 2; k++)
            assert_int_equal(cJSON_GetArrayItem(more, k)->valueint, ((const int32_t *)greedy->data)[k]);
        cJSON_Delete(o);
        ts_safetensors_close(f);
    }
}

static void options(void **state)
{
    (void)state;
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-m", TINY, "-p", "x", "--system", "s", NULL), TS_USAGE);
    assert_string_equal(got.err, "touchstone: --system: needs --chat\n");
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-m", TINY, "-p", "x", "--no-think", NULL), TS_USAGE);
    assert_string_equal(got.err, "touchstone: --no-think: needs --chat\n");
    assert_int_equal(
        capture_run(&got, ts_cmd_run, "run", "-m", TINY, "-p", "<tool_response></tool_response>", "--chat", NULL),
        TS_BAD);
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-m", TINY, "-p", "a\xff", "--chat", NULL), TS_BAD);
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-m", TINY, "-p", "x", "--chat", "--system", "be", "-n",
                                 "1", "--json", NULL),
                     TS_OK);
    assert_non_null(strstr(got.out, "<|im_start|>system\\nbe<|im_end|>\\n<|im_start|>user\\nx<|im_end|>\\n"
                                    "<|im_start|>assistant\\n<think>\\n\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_of_the_goldens),
        cmocka_unit_test(turns),
        cmocka_unit_test(command),
        cmocka_unit_test(options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
