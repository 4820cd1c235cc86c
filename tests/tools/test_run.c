#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "base/folder.h"
#include "format/json.h"
#include "format/safetensors.h"
#include "runner.h"
#include "tool.h"
#include "tools/capture.h"

#define TINY "golden/models/tiny-qwen35"
#define SHORT "int i"
#define PROMPT "/*\n** Return the number of bytes in the"

static capture got;

typedef struct {
    folder dir;
    char a[FOLDER_PATH], b[FOLDER_PATH];
} files;

static int set_up(void **state)
{
    static files f;
    folder_make(&f.dir);
    folder_file(&f.dir, "a", f.a);
    folder_file(&f.dir, "b", f.b);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    folder_remove(&((files *)*state)->dir);
    return 0;
}

static cJSON *parsed(const char *text)
{
    cJSON *o = NULL;
    ts_error err = {0};
    if (ts_json_parse("text", text, strlen(text), &o, &err))
        fail_msg("%s in %s", err.reason, text);
    return o;
}

static cJSON *loaded(const char *path)
{
    cJSON *o = NULL;
    assert_int_equal(ts_json_load(path, &o, NULL), TS_OK);
    return o;
}

static void assert_ids(const cJSON *array, const cJSON *want, int at_most)
{
    int n = cJSON_GetArraySize(want) < at_most ? cJSON_GetArraySize(want) : at_most;
    assert_int_equal(cJSON_GetArraySize(array), n);
    for (int i = 0; i < n; i++)
        assert_int_equal(cJSON_GetArrayItem(array, i)->valueint, cJSON_GetArrayItem(want, i)->valueint);
}

/* Greedy ids of an engine that is not ours; the case ends with the stop id. */
static void greedy_as_the_golden(void **state)
{
    files *f = *state;
    cJSON *golden = loaded("golden/external/peer/llamacpp-greedy-bf16.json");
    cJSON *want = cJSON_GetObjectItem(cJSON_GetObjectItem(golden, "cases"), "comment");
    static const char *const engine[] = {"fast", "ref32", "ref64"};
    for (int i = 0; i < 3; i++) {
        bool whole = i == 2;
        assert_int_equal(capture_run(&got, ts_cmd_run, "run", "--model", TINY, "--prompt", PROMPT, "-n",
                                     whole ? "48" : "2", "--engine", engine[i], "--profile", "exact", "--record",
                                     f->a, NULL),
                         TS_OK);
        cJSON *o = loaded(f->a);
        assert_ids(cJSON_GetObjectItem(o, "prompt_ids"), cJSON_GetObjectItem(want, "prompt_ids"), 48);
        assert_ids(cJSON_GetObjectItem(o, "ids"), cJSON_GetObjectItem(want, "greedy"), whole ? 48 : 2);
        assert_string_equal(cJSON_GetObjectItem(o, "stop")->valuestring, whole ? "eos" : "length");
        assert_string_equal(cJSON_GetObjectItem(o, "prompt")->valuestring, PROMPT);
        assert_string_equal(cJSON_GetObjectItem(o, "engine")->valuestring, engine[i]);
        assert_string_equal(cJSON_GetObjectItem(o, "kv")->valuestring, "real");
        assert_int_equal(strlen(cJSON_GetObjectItem(o, "model_sha256")->valuestring), 64);
        assert_null(strstr(got.out, "<|im_end|>"));
        assert_int_equal(got.out[strlen(got.out) - 1], '\n');
        assert_non_null(strstr(got.err, "prefill 9 tokens, "));
        cJSON_Delete(o);
    }
    cJSON_Delete(golden);
}

static void text_and_json_agree(void **state)
{
    static capture text;
    (void)state;
    assert_int_equal(
        capture_run(&text, ts_cmd_run, "run", "--model", TINY, "--prompt", SHORT, "-n", "6", "-e", "ref32", NULL),
        TS_OK);
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "--model", TINY, "--prompt", SHORT, "-n", "6", "-e",
                                 "ref32", "--json", NULL),
                     TS_OK);
    cJSON *o = parsed(got.out);
    assert_int_equal(cJSON_GetObjectItem(o, "schema")->valueint, 1);
    assert_string_equal(cJSON_GetObjectItem(o, "stop")->valuestring, "length");
    assert_true(cJSON_GetObjectItem(cJSON_GetObjectItem(o, "sampling"), "top_p")->valuedouble == 1);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(o, "ids")), 6);
    text.out[strlen(text.out) - 1] = '\0';
    assert_string_equal(cJSON_GetObjectItem(o, "text")->valuestring, text.out);
    cJSON_Delete(o);
}

static cJSON *sampled(const char *path, const char *seed, const char *threads)
{
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-m", TINY, "-p", SHORT, "-n", "6", "--temperature",
                                 "1.5", "--top-k", "40", "--top-p", "0.95", "--min-p", "0.001",
                                 "--repetition-penalty", "1.1", "--frequency-penalty", "0.1", "--presence-penalty",
                                 "-0.1", "--penalty-window", "16", "--seed", seed, "--threads", threads, "--record",
                                 path, NULL),
                     TS_OK);
    return loaded(path);
}

static void sampling_replays(void **state)
{
    files *f = *state;
    cJSON *a = sampled(f->a, "18446744073709551615", "1"), *b = sampled(f->b, "18446744073709551615", "3");
    cJSON *c = sampled(f->b, "7", "1");
    assert_true(cJSON_Compare(cJSON_GetObjectItem(a, "ids"), cJSON_GetObjectItem(b, "ids"), true));
    assert_false(cJSON_Compare(cJSON_GetObjectItem(a, "ids"), cJSON_GetObjectItem(c, "ids"), true));
    cJSON *s = cJSON_GetObjectItem(a, "sampling");
    assert_string_equal(cJSON_GetObjectItem(s, "seed")->valuestring, "18446744073709551615");
    assert_true((float)cJSON_GetObjectItem(s, "top_p")->valuedouble == 0.95f);
    assert_int_equal(cJSON_GetObjectItem(s, "window")->valueint, 16);
    assert_int_equal(cJSON_GetObjectItem(s, "top_k")->valueint, 40);
    cJSON_Delete(a);
    cJSON_Delete(b);
    cJSON_Delete(c);
}

static void prompt_from_stdin(void **state)
{
    files *f = *state;
    assert_int_equal(ts_write_file(f->a, SHORT, strlen(SHORT), NULL), TS_OK);
    capture in = {.stdin_file = f->a};
    assert_int_equal(capture_run(&in, ts_cmd_run, "run", "-m", TINY, "-f", "-", "-n", "2", "-e", "ref32", NULL),
                     TS_OK);
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-m", TINY, "-f", f->a, "-n", "2", "-e", "ref32", NULL),
                     TS_OK);
    assert_string_equal(in.out, got.out);
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-m", TINY, "-f", "-", "-n", "2", NULL), TS_BAD);
    assert_non_null(strstr(got.err, "the prompt has no tokens"));
    assert_int_equal(ts_write_file(f->a, "a\0b", 3, NULL), TS_OK);
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-m", TINY, "-f", f->a, NULL), TS_BAD);
    assert_int_equal(ts_write_file(f->a, "a\xff", 2, NULL), TS_OK);
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-m", TINY, "-f", f->a, NULL), TS_BAD);
}

/* Each is refused with its own name, where it comes from and at the byte that it has there. */
static void prompts_that_are_none(void **state)
{
    files *f = *state;
    char fifo[FOLDER_PATH];
    const struct {
        const char *option, *value, *system, *error;
    } bad[] = {
        {"-f", "/dev/zero", NULL, "/dev/zero: a device or pipe, not a regular file"},
        {"-f", folder_file(&f->dir, "fifo", fifo), NULL, "a device or pipe, not a regular file"},
        {"-f", f->dir.path, NULL, "a folder, not a regular file"},
        {"-f", f->a, NULL, "/a: 16777217 bytes, more than the 16777216 allowed"},
        {"-f", "-", NULL, "stdin: more than the 16777216 bytes allowed"},
        {"-p", "ab\xff", NULL, "--prompt: not UTF-8: byte 2 (0xff)"},
        {"-f", f->b, NULL, "/b: not UTF-8: byte 1 (0xff)"},
        {"-p", "ab", "a\xc3", "--system: not UTF-8: byte 1 (0xc3)"},
    };
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(ts_write_file(f->a, "", 0, NULL), TS_OK);
    assert_int_equal(truncate(f->a, (16 << 20) + 1), 0);
    assert_int_equal(ts_write_file(f->b, "a\xff", 2, NULL), TS_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        capture c = {.stdin_file = "/dev/zero"};
        capture_run(&c, ts_cmd_run, "run", "-m", TINY, bad[i].option, bad[i].value, "--chat",
                    bad[i].system ? "--system" : NULL, bad[i].system, NULL);
        if (c.code != TS_BAD || !strstr(c.err, bad[i].error))
            fail_msg("%s: exit %d %s", bad[i].error, c.code, c.err);
    }
}

static void wrong_arguments(void **state)
{
    static const char *const bad[][2] = {
        {"-n", "0"},
        {"-n", "1e3"},
        {"-n", " 3"},
        {"-n", "99999999999999999999"},
        {"--temperature", "nan"},
        {"--temperature", "inf"},
        {"--temperature", "1x"},
        {"--temperature", ""},
        {"--top-k", "-1"},
        {"--seed", "-1"},
        {"--seed", "18446744073709551616"},
        {"--threads", "0"},
        {"--engine", "gpu"},
        {"--profile", "best"},
        {"--kv", "f8"},
        {"--kv", ""},
        {"--repetition-penalty", "0"},
        {"--prompt-file", "x"},
        {"--what", "x"},
        {"-x", "x"},
        {"--min-p", "1e999"},
        {"--min-p", "1.5"},
        {"--min-p", "-1"},
        {"--top-p", "2"},
        {"--top-p", "-0.5"},
        {"--top-p", "1e-300"},
        {"--temperature", "-1"},
        {"--temperature", "1e-40"},
        {"--repetition-penalty", "-2"},
        {"--record", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int code = capture_run(&got, ts_cmd_run, "run", "-m", TINY, "-p", "x", bad[i][0], bad[i][1], NULL);
        if (code != TS_USAGE)
            fail_msg("%s '%s' gave %d", bad[i][0], bad[i][1], code);
        assert_ptr_equal(strstr(got.err, "touchstone: "), got.err);
        assert_string_equal(got.out, "");
        bool of_prompts = strcmp(bad[i][0], "--prompt-file") == 0; /* there are two */
        if (!strstr(got.err, bad[i][0]) && !of_prompts && bad[i][0][1] == '-')
            fail_msg("%s '%s': %s", bad[i][0], bad[i][1], got.err);
    }
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-m", TINY, "-f", "", NULL), TS_USAGE);
    assert_non_null(strstr(got.err, "--prompt-file: wants a file, not ''"));
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-m", "", "-p", "x", NULL), TS_USAGE);
    assert_non_null(strstr(got.err, "--model: wants a folder, not ''"));
    assert_int_equal(capture_run(&got, ts_cmd_op, "op", "--op", "exp", "--in", "", NULL), TS_USAGE);
    assert_non_null(strstr(got.err, "--in: wants a file"));
    assert_int_equal(capture_run(&got, ts_cmd_trace, "trace", "-m", TINY, "-p", "x", "-o", "", NULL), TS_USAGE);
    assert_non_null(strstr(got.err, "--out: wants a file"));
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-m", TINY, NULL), TS_USAGE);
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-p", "x", NULL), TS_USAGE);
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-m", TINY, "-p", "x", "more", NULL), TS_USAGE);
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "--seed", NULL), TS_USAGE);
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "--help", NULL), TS_OK);
    assert_non_null(strstr(got.out, "--repetition-penalty"));
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "--seed", "x", "--json", NULL), TS_USAGE);
    cJSON *o = parsed(got.out);
    assert_int_equal(cJSON_GetObjectItem(o, "exit")->valueint, TS_USAGE);
    cJSON_Delete(o);
}

static void bad_input(void **state)
{
    (void)state;
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-m", "/nonexistent", "-p", "x", NULL), TS_BAD);
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-m", TINY, "-p", "", NULL), TS_BAD);
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-m", TINY, "-p", "x", "-n", "32768", "--json", NULL),
                     TS_BAD);
    assert_non_null(strstr(got.err, "a prompt of 1 tokens and 32768 more exceed the model's 32768 positions"));
    cJSON *o = parsed(got.out);
    assert_string_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(o, "error"), "file")->valuestring, TINY);
    cJSON_Delete(o);
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-m", TINY, "-p", "x", "-n", "1", "-e", "ref32",
                                 "--record", "/nonexistent/r", NULL),
                     TS_BAD);
    capture full = {.stdout_file = "/dev/full"};
    assert_int_equal(capture_run(&full, ts_cmd_run, "run", "-m", TINY, "-p", "x", "-n", "2", "-e", "ref32", NULL),
                     TS_BAD);
    assert_non_null(strstr(full.err, "touchstone: stdout: "));
    assert_int_equal(
        capture_run(&full, ts_cmd_run, "run", "-m", TINY, "-p", "x", "-n", "1", "-e", "ref32", "--json", NULL),
        TS_BAD);
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)) != NULL; text++)
        n++;
    return n;
}

static void traces_agree(void **state)
{
    files *f = *state;
    assert_int_equal(
        capture_run(&got, ts_cmd_trace, "trace", "-m", TINY, "-p", PROMPT, "-n", "1", "-o", f->a, NULL), TS_OK);
    assert_int_equal(capture_run(&got, ts_cmd_trace, "trace", "-m", TINY, "-i",
                                 "647,281,1072,273,801,322,919,283,273", "-n", "1", "-o", f->b, "--engine", "ref32",
                                 "--json", NULL),
                     TS_OK);
    cJSON *o = parsed(got.out);
    assert_int_equal(cJSON_GetObjectItem(o, "tokens")->valueint, 10);
    cJSON_Delete(o);
    assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", f->a, f->b, NULL), TS_OK);
    assert_ptr_equal(strstr(got.out, "engine: fast against ref32\n"), got.out);
    ts_safetensors *t = NULL;
    assert_int_equal(ts_safetensors_open(f->a, &t, NULL), TS_OK);
    assert_string_equal(ts_safetensors_meta(t, "ids"), "[647,281,1072,273,801,322,919,283,273]");
    assert_string_equal(ts_safetensors_meta(t, "decoded"), "[947]");
    assert_string_equal(ts_safetensors_meta(t, "schema"), "1");
    assert_string_equal(ts_safetensors_meta(t, "touchstone"), TS_VERSION);
    assert_int_equal(ts_safetensors_find(t, "logits")->dim[0], 10);
    ts_safetensors_close(t);
    assert_int_equal(capture_run(&got, ts_cmd_trace, "trace", "-m", TINY, "-p", PROMPT, "-n", "1", "-o", f->b,
                                 "--engine", "ref64", NULL),
                     TS_OK);
    assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", "--across-profiles", f->a, f->b, NULL), TS_DIFFERS);
    assert_non_null(strstr(got.out, "compared by value"));
    assert_non_null(strstr(got.out, "\nfirst difference: layer.0.input_norm F32 [10,256]: "));
    assert_int_equal(count(got.out, "\nnext: "), 3);
    assert_non_null(strstr(got.out, " more (--all)\n"));
    assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", "--across-profiles", f->a, f->b, "--all", NULL),
                     TS_DIFFERS);
    assert_true(count(got.out, "\nnext: ") > 100);
    assert_null(strstr(got.out, "--all"));
}

static void trace_errors(void **state)
{
    files *f = *state;
    assert_int_equal(capture_run(&got, ts_cmd_trace, "trace", "-m", TINY, "-i", "1,,2", "-o", f->a, NULL),
                     TS_USAGE);
    assert_int_equal(capture_run(&got, ts_cmd_trace, "trace", "-m", TINY, "-i", "", "-o", f->a, NULL), TS_USAGE);
    assert_int_equal(capture_run(&got, ts_cmd_trace, "trace", "-m", TINY, "-i", "-1", "-o", f->a, NULL), TS_USAGE);
    assert_int_equal(capture_run(&got, ts_cmd_trace, "trace", "-m", TINY, "-i", "2048", "-o", f->a, NULL), TS_BAD);
    assert_int_equal(capture_run(&got, ts_cmd_trace, "trace", "-m", TINY, "-i", "1", NULL), TS_USAGE);
    assert_int_equal(capture_run(&got, ts_cmd_trace, "trace", "-m", TINY, "-i", "1", "-o", "/nonexistent/t", NULL),
                     TS_BAD);
    assert_int_equal(folder_count(&f->dir), 0);
}

/* The cache's dtype is an axis of its own: every engine follows it, and it is on record. */
static void kv_dtypes(void **state)
{
    files *f = *state;
    static const char *const kv[] = {"real", "bf16", "f16"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            capture_run(&got, ts_cmd_trace, "trace", "-m", TINY, "-p", SHORT, "--kv", kv[i], "-o", f->a, NULL),
            TS_OK);
        assert_int_equal(capture_run(&got, ts_cmd_trace, "trace", "-m", TINY, "-p", SHORT, "--kv", kv[i], "-e",
                                     "ref32", "-o", f->b, "--json", NULL),
                         TS_OK);
        assert_non_null(strstr(got.out, kv[i]));
        assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", f->a, f->b, NULL), TS_OK);
        assert_int_equal(capture_run(&got, ts_cmd_trace, "trace", "-m", TINY, "-p", SHORT, "--kv", kv[(i + 1) % 3],
                                     "-o", f->b, NULL),
                         TS_OK);
        assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", f->a, f->b, NULL), TS_USAGE);
        assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", "--across-profiles", f->a, f->b, NULL), TS_DIFFERS);
        assert_non_null(strstr(got.out, "kv: "));
        assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-m", TINY, "-p", SHORT, "-n", "1", "--kv", kv[i],
                                     "-r", f->a, NULL),
                         TS_OK);
        cJSON *o = loaded(f->a);
        assert_string_equal(cJSON_GetObjectItem(o, "kv")->valuestring, kv[i]);
        cJSON_Delete(o);
    }
}

/* FP8 is the reference's alone. */
static void kv_codes(void **state)
{
    files *f = *state;
    static const char *const kv[] = {"fp8-e4m3", "fp8-e5m2"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(capture_run(&got, ts_cmd_trace, "trace", "-m", TINY, "-p", SHORT, "--kv", kv[i], "-e",
                                     "ref32", "-o", i ? f->b : f->a, NULL),
                         TS_OK);
        assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-m", TINY, "-p", SHORT, "-n", "1", "--kv", kv[i],
                                     "-e", "ref64", NULL),
                         TS_OK);
        assert_int_equal(
            capture_run(&got, ts_cmd_run, "run", "-m", TINY, "-p", SHORT, "-n", "1", "--kv", kv[i], NULL),
            TS_USAGE);
        assert_non_null(strstr(got.err, "no schedule stores fp8"));
    }
    assert_int_equal(capture_run(&got, ts_cmd_diff, "diff", "--across-profiles", f->a, f->b, NULL), TS_DIFFERS);
}

/* A folder with all of the tiny model's files and a generation_config.json of its own. */
static void link_model(const folder *d, const char *generation)
{
    static const char *const names[] = {"config.json", "tokenizer.json", "model.safetensors.index.json",
                                        "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"};
    char cwd[FOLDER_PATH / 2], from[FOLDER_PATH], to[FOLDER_PATH];
    assert_non_null(getcwd(cwd, sizeof cwd));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(from, sizeof from, "%s/" TINY "/%s", cwd, names[i]);
        assert_int_equal(symlink(from, folder_file(d, names[i], to)), 0);
    }
    folder_text(d, "generation_config.json", generation);
}

static cJSON *sampling_of(const char *model, const char *record, const char *option, const char *value)
{
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-m", model, "-p", SHORT, "-n", "1", "-r", record,
                                 "--use-generation-config", option, value, NULL),
                     TS_OK);
    cJSON *o = loaded(record), *s = cJSON_DetachItemFromObject(o, "sampling");
    cJSON_Delete(o);
    return s;
}

static bool is(const cJSON *o, const char *key, float x)
{
    return (float)cJSON_GetObjectItem(o, key)->valuedouble == x;
}

static void generation_config(void **state)
{
    files *f = *state;
    const char *model = f->dir.path;
    link_model(&f->dir, "{\"do_sample\":true,\"temperature\":0.6,\"top_k\":20,\"top_p\":0.95,\"min_p\":0.125}");
    cJSON *s = sampling_of(model, f->a, "--seed", "5");
    assert_true(is(s, "temperature", 0.6f) && is(s, "top_k", 20) && is(s, "top_p", 0.95f));
    assert_true(is(s, "min_p", 0.125f) && is(s, "repetition", 1));
    cJSON_Delete(s);
    s = sampling_of(model, f->a, "--temperature", "0"); /* given: wins, though it is the default */
    assert_true(is(s, "temperature", 0) && is(s, "top_k", 20));
    cJSON_Delete(s);
    s = sampling_of(model, f->a, "--top-k", "0");
    assert_true(is(s, "temperature", 0.6f) && is(s, "top_k", 0));
    cJSON_Delete(s);
    folder_text(&f->dir, "generation_config.json", "{\"do_sample\":false,\"temperature\":0.6}");
    s = sampling_of(model, f->a, "--top-p", "0.5");
    assert_true(is(s, "temperature", 0) && is(s, "top_p", 0.5f));
    cJSON_Delete(s);
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-m", model, "-p", SHORT, "-n", "1", "-r", f->a, NULL),
                     TS_OK);
    cJSON *o = loaded(f->a);
    assert_true(is(cJSON_GetObjectItem(o, "sampling"), "temperature", 0)); /* not asked for: not read */
    cJSON_Delete(o);
    folder_text(&f->dir, "generation_config.json", "{\"top_p\":7}");
    assert_int_equal(
        capture_run(&got, ts_cmd_run, "run", "-m", model, "-p", SHORT, "--use-generation-config", NULL), TS_BAD);
    assert_non_null(strstr(got.err, "generation_config.json: top_p: 7 is not within 0..1"));
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-m", TINY, "-p", SHORT, "--use-generation-config", NULL),
                     TS_BAD);
    assert_int_equal(capture_run(&got, ts_cmd_run, "run", "-p", SHORT, "--use-generation-config", NULL), TS_USAGE);
}

/* A reset runner gives the bits of a new one. */
static void runner_resets(void **state)
{
    static const char *const engine[] = {"fast", "ref32", "ref64"};
    static const int32_t ids[2] = {647, 281};
    (void)state;
    ts_weights *w = NULL;
    assert_int_equal(ts_weights_load(TINY, &w, NULL), TS_OK);
    for (int i = 0; i < 3; i++) {
        static float first[2048], second[2048];
        ts_runner *r = NULL;
        ts_runner_options o = {.engine = engine[i], .profile = ts_profile_find("ts"), .capacity = 2, .threads = 2};
        assert_int_equal(ts_runner_open(w, &o, &r, NULL), TS_OK);
        ts_stepper s = ts_runner_stepper(r);
        assert_int_equal(s.V, 2048);
        assert_int_equal(s.forward(s.ctx, ids, 2, first, NULL), TS_OK);
        assert_int_equal(s.forward(s.ctx, ids, 1, second, NULL), TS_BAD); /* full */
        assert_int_equal(ts_runner_reset(r, NULL), TS_OK);
        assert_int_equal(s.forward(s.ctx, ids, 2, second, NULL), TS_OK);
        assert_memory_equal(first, second, sizeof first);
        ts_runner_close(r);
    }
    ts_runner *none = NULL;
    ts_runner_options o = {.engine = "gpu", .profile = ts_profile_find("ts"), .capacity = 2, .threads = 1};
    assert_int_equal(ts_runner_open(w, &o, &none, NULL), TS_USAGE);
    ts_weights_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(greedy_as_the_golden, set_up, tear_down),
        cmocka_unit_test(text_and_json_agree),
        cmocka_unit_test_setup_teardown(sampling_replays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(prompt_from_stdin, set_up, tear_down),
        cmocka_unit_test_setup_teardown(prompts_that_are_none, set_up, tear_down),
        cmocka_unit_test(wrong_arguments),
        cmocka_unit_test(bad_input),
        cmocka_unit_test_setup_teardown(traces_agree, set_up, tear_down),
        cmocka_unit_test_setup_teardown(trace_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(kv_dtypes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(kv_codes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(generation_config, set_up, tear_down),
        cmocka_unit_test(runner_resets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
