/* touchstone run --draft: every verifier on both drafters and all engines, records that stats reads back, and what
 * is refused, with its name and the reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "base/scratch.h"
#include "format/json.h"
#include "format/safetensors.h"
#include "round.h"
#include "tool.h"
#include "tools/capture.h"

#define TINY "golden/models/tiny-qwen35"
#define PROMPT "static int"

static capture got;

static int run(const char *prompt, const char *n, const char *const *more)
{
    const char *arg[CAPTURE_ARGS] = {0};
    for (int i = 0; more[i]; i++)
        arg[i] = more[i];
    return capture_run(&got, ts_cmd_run, "run", "--model", TINY, "--prompt", prompt, "-n", n, arg[0], arg[1],
                       arg[2], arg[3], arg[4], arg[5], arg[6], arg[7], arg[8], arg[9], arg[10], arg[11], NULL);
}

#define RUN(n, ...) run(PROMPT, n, (const char *const[]){__VA_ARGS__, NULL})

static void assert_refused(int code, int want, const char *text)
{
    if (code != want || strstr(got.err, text) == NULL)
        fail_msg("exit code %d and \"%s\", want %d and \"%s\"", code, got.err, want, text);
    assert_string_equal(got.out, "");
}

static void assert_fine(int code)
{
    if (code != TS_OK)
        fail_msg("exit code %d: %s", code, got.err);
}

typedef struct {
    int rounds;
    int64_t emitted;
    bool hashed;
} sums;

static ts_status add(void *user, const ts_round *r, ts_error *err)
{
    sums *s = user;
    (void)err;
    s->rounds++;
    s->emitted += r->n_emitted;
    s->hashed = r->hash_S[0] != '\0' && r->hash_ctx[0] != '\0';
    return TS_OK;
}

/* The records of a run of n tokens, of which the first belongs to no round. */
static sums assert_records(const char *path, int n)
{
    sums s = {0};
    ts_error err = {0};
    if (ts_rounds_load(path, add, &s, &err) != TS_OK)
        fail_msg("%s: %s", err.file, err.reason);
    assert_true(s.rounds > 0);
    assert_int_equal(s.emitted, n - 1);
    assert_fine(capture_run(&got, ts_cmd_stats, "stats", path, NULL));
    return s;
}

static void every_verifier_everywhere(void **state)
{
    (void)state;
    static const char *const engine[] = {"fast", "ref32", "ref64"}, *const drafter[] = {"mtp", "dflash2"},
                             *const verifier[] = {"greedy", "ratio", "point", "match", "block"};
    char file[FOLDER_PATH];
    folder_file(&dir, "rounds.jsonl", file);
    for (int e = 0; e < 3; e++)
        for (int d = 0; d < 2; d++)
            for (int v = 0; v < 5; v++) {
                assert_fine(RUN("5", "--draft", drafter[d], "--engine", engine[e], "--verify", verifier[v], "--k",
                                "2", "--temperature", "0.8", "--rounds", file));
                assert_non_null(strstr(got.err, "proposals accepted"));
                assert_records(file, 5);
            }
}

static cJSON *loaded(const char *path)
{
    cJSON *o = NULL;
    assert_int_equal(ts_json_load(path, &o, NULL), TS_OK);
    return o;
}

static cJSON *record_of(const char *const *options)
{
    cJSON *o = NULL;
    assert_fine(run(PROMPT, "12", options));
    assert_int_equal(ts_json_parse("out", got.out, strlen(got.out), &o, NULL), TS_OK);
    return o;
}

/* The bits of a run, rounds and hashes of the state included, are the same on both engines; and its ids are those
 * of plain decoding. */
static void fast_is_ref32(void **state)
{
    (void)state;
    static const char *const drafter[] = {"mtp", "dflash2"};
    cJSON *plain = record_of((const char *const[]){"--json", NULL});
    for (int d = 0; d < 2; d++) {
        cJSON *a = record_of((const char *const[]){"--json", "--draft", drafter[d], "--hash-state", NULL});
        cJSON *b = record_of(
            (const char *const[]){"--json", "--draft", drafter[d], "--hash-state", "--engine", "ref32", NULL});
        const char *const same[] = {"ids", "rounds", "acceptance"};
        for (int i = 0; i < 3; i++)
            assert_true(cJSON_Compare(cJSON_GetObjectItem(a, same[i]), cJSON_GetObjectItem(b, same[i]), true));
        assert_true(cJSON_Compare(cJSON_GetObjectItem(a, "ids"), cJSON_GetObjectItem(plain, "ids"), true));
        assert_int_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(a, "draft"), "k")->valueint, d ? 7 : 3);
        cJSON_Delete(a);
        cJSON_Delete(b);
    }
    cJSON_Delete(plain);
}

static void states_are_hashed(void **state)
{
    (void)state;
    char file[FOLDER_PATH];
    folder_file(&dir, "rounds.jsonl", file);
    assert_fine(RUN("6", "--draft", "mtp", "--rounds", file));
    assert_false(assert_records(file, 6).hashed);
    assert_fine(RUN("6", "--draft", "mtp", "--rounds", file, "--hash-state"));
    assert_true(assert_records(file, 6).hashed);
}

static void options_that_do_not_go_together(void **state)
{
    (void)state;
    assert_refused(RUN("4", "--draft", "eagle"), TS_USAGE, "'eagle' is neither mtp nor dflash2");
    assert_refused(RUN("4", "--k", "3"), TS_USAGE, "--k: needs --draft");
    assert_refused(RUN("4", "--verify", "ratio"), TS_USAGE, "--verify: needs --draft");
    assert_refused(RUN("4", "--rounds", "r"), TS_USAGE, "--rounds: needs --draft");
    assert_refused(RUN("4", "--hash-state"), TS_USAGE, "--hash-state: needs --draft");
    assert_refused(RUN("4", "--draft-model", "m"), TS_USAGE, "--draft-model: needs --draft");
    assert_refused(RUN("4", "--draft", "mtp", "--verify", "tree"), TS_USAGE, "'tree' is not greedy");
    assert_refused(RUN("4", "--draft", "mtp", "--k", "0"), TS_USAGE, "from 1 to 32");
    assert_refused(RUN("4", "--draft", "mtp", "--k", "33"), TS_USAGE, "from 1 to 32");
    assert_refused(RUN("4", "--draft", "mtp", "--k", "3.5"), TS_USAGE, "--k");
    assert_refused(RUN("4", "--draft", "dflash2", "--k", "8"), TS_USAGE, "8 proposals, this drafter makes 1..7");
    assert_refused(RUN("4", "--draft", "mtp", "--draft-model", ""), TS_USAGE, "--draft-model");
    assert_refused(RUN("4", "--draft", "mtp", "--engine", "gpu"), TS_USAGE, "gpu");
    assert_fine(RUN("4", "--draft", "mtp", "--k", "32"));
    assert_fine(RUN("1", "--draft", "dflash2", "--k", "7")); /* the first token belongs to no round */
    assert_fine(run("", "3", (const char *const[]){"--draft", "mtp", NULL}) ? TS_OK : TS_BAD);
}

static void drafters_that_are_none(void **state)
{
    (void)state;
    char fifo[FOLDER_PATH];
    folder_file(&dir, "fifo", fifo);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    static const char *const shard = TINY "/model-00001-of-00002.safetensors";
    const struct {
        const char *kind, *path, *text;
    } none[] = {
        {"mtp", TINY, "mtp.norm.weight: missing: no head"},
        {"mtp", shard, "mtp.norm.weight: missing: no head"},
        {"mtp", TINY "/dflash2.safetensors", "dflash2.safetensors: mtp.norm.weight: missing"},
        {"mtp", TINY "/tokenizer.json", "tokenizer.json: header length"},
        {"mtp", fifo, "fifo: a device or pipe"},
        {"mtp", "/dev/null", "/dev/null: a device or pipe"},
        {"mtp", "/nonexistent", "/nonexistent: cannot open: No such file"},
        {"dflash2", TINY, "config.json: architectures: \"Qwen3_5ForCausalLM\" is not supported"},
        {"dflash2", shard, "model-00001-of-00002-config.json: cannot open"},
        {"dflash2", TINY "/mtp.safetensors", "mtp-config.json: cannot open"},
        {"dflash2", fifo, "fifo-config.json: cannot open"},
        {"dflash2", "/nonexistent", "/nonexistent: cannot open: No such file"},
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_refused(RUN("4", "--draft", none[i].kind, "--draft-model", none[i].path), TS_BAD, none[i].text);
}

/* A copy of a file of the tiny model. */
static void copy(const char *name)
{
    char from[FOLDER_PATH], *text;
    size_t size;
    snprintf(from, sizeof from, TINY "/%s", name);
    assert_int_equal(ts_read_file(from, &text, &size, NULL), TS_OK);
    folder_write(&dir, name, text, size);
    free(text);
}

static void records_that_cannot_be_written(void **state)
{
    (void)state;
    assert_refused(RUN("4", "--draft", "mtp", "--rounds", "/nonexistent/r"), TS_BAD,
                   "/nonexistent/r: cannot write");
    assert_refused(RUN("4", "--draft", "mtp", "--rounds", dir.path), TS_BAD, "directory");
    const int code = RUN("4", "--draft", "mtp", "--rounds", "/dev/full");
    assert_int_equal(code, TS_BAD);
    assert_non_null(strstr(got.err, "/dev/full: cannot write: No space left"));
}

/* The record of a run replaces its file when it is whole: a drafter that is mapped stays what it was till the end,
 * and a run that fails leaves the old record and nothing beside it. */
static void records_appear_at_the_end(void **state)
{
    (void)state;
    char mtp[FOLDER_PATH];
    folder_empty(&dir);
    copy("mtp.safetensors");
    folder_file(&dir, "mtp.safetensors", mtp);
    assert_fine(RUN("6", "--draft", "mtp", "--draft-model", mtp, "--rounds", mtp));
    assert_records(mtp, 6);
    assert_refused(RUN("6", "--draft", "dflash2", "--k", "8", "--rounds", mtp), TS_USAGE, "8 proposals");
    assert_records(mtp, 6);
    assert_int_equal(folder_count(&dir), 1);
}

/* Version 1 as a drafter: no convolutions, no selector, and its best is a point mass whatever the temperature. */
static void write_first_dflash(void)
{
    char from[FOLDER_PATH];
    ts_safetensors *all;
    ts_tensor keep[64];
    size_t n = 0;
    cJSON *o = loaded(TINY "/dflash2-config.json");
    cJSON_ReplaceItemInObject(o, "architectures", cJSON_Parse("[\"DFlashDraftModel\"]"));
    assert_int_equal(ts_json_save(folder_file(&dir, "v1-config.json", from), o, NULL), TS_OK);
    cJSON_Delete(o);
    assert_int_equal(ts_safetensors_open(TINY "/dflash2.safetensors", &all, NULL), TS_OK);
    for (size_t i = 0; i < ts_safetensors_count(all); i++) {
        const ts_tensor *t = ts_safetensors_at(all, i);
        if (!strstr(t->name, "conv") && !strstr(t->name, "selector"))
            keep[n++] = *t;
    }
    assert_int_equal(ts_safetensors_write(folder_file(&dir, "v1.safetensors", from), keep, n, NULL, 0, NULL),
                     TS_OK);
    ts_safetensors_close(all);
}

static ts_status point_masses(void *user, const ts_round *r, ts_error *err)
{
    (void)user;
    (void)err;
    assert_int_equal(r->slots, 0);
    for (int i = 0; i < r->k; i++)
        assert_true(r->q_d[i] == 1);
    return TS_OK;
}

static void the_first_dflash(void **state)
{
    (void)state;
    char model[FOLDER_PATH], file[2][FOLDER_PATH], *text[2];
    size_t size[2];
    write_first_dflash();
    folder_file(&dir, "v1.safetensors", model);
    const char *const engine[] = {"fast", "ref32"};
    for (int i = 0; i < 2; i++) {
        folder_file(&dir, engine[i], file[i]);
        assert_fine(RUN("8", "--draft", "dflash2", "--draft-model", model, "--engine", engine[i], "--verify",
                        "ratio", "--temperature", "0.8", "--rounds", file[i]));
        assert_int_equal(ts_rounds_load(file[i], point_masses, NULL, NULL), TS_OK);
        assert_int_equal(ts_read_file(file[i], &text[i], &size[i], NULL), TS_OK);
    }
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(text[0], text[1], size[0]);
    free(text[0]);
    free(text[1]);
}

/* touchstone quantize takes drafters along; codes without the config beside them are named. */
static void quantised_drafters(void **state)
{
    (void)state;
    char model[FOLDER_PATH], file[FOLDER_PATH], config[FOLDER_PATH + 32];
    folder_empty(&dir);
    folder_file(&dir, "q4", model);
    assert_fine(capture_run(&got, ts_cmd_quantize, "quantize", "--model", TINY, "-o", model, NULL));
    const char *const names[] = {"mtp", "dflash2"};
    for (int i = 0; i < 2; i++) {
        assert_fine(capture_run(&got, ts_cmd_run, "run", "--model", model, "--prompt", PROMPT, "-n", "4", "--draft",
                                names[i], NULL));
        snprintf(config, sizeof config, "%s/%s-config.json", model, names[i]);
        assert_int_equal(remove(config), 0);
        const int code = capture_run(&got, ts_cmd_run, "run", "--model", model, "--prompt", PROMPT, "-n", "4",
                                     "--draft", names[i], NULL);
        assert_refused(code, TS_BAD, i ? "dflash2-config.json: cannot open" : "MLX codes need a quantization");
    }
    folder inner;
    snprintf(inner.path, sizeof inner.path, "%.60s", model);
    folder_file(&inner, "x", file);
    folder_remove(&inner);
}

/* The first record of a run with this in place of a member's value: cJSON would print its numbers otherwise. */
static void write_changed(const char *record, const char *key, const char *value)
{
    char line[1 << 14];
    const char *at = strstr(record, key), *from = at ? at + strlen(key) : NULL;
    assert_non_null(from);
    const char *end = *from == '[' ? strchr(from, ']') + 1 : from + strcspn(from, ",}");
    const int rest = (int)strcspn(end, "\n");
    const int n = snprintf(line, sizeof line, "%.*s%s%.*s\n", (int)(from - record), record, value, rest, end);
    assert_true(n > 0 && (size_t)n < sizeof line);
    folder_text(&dir, "along.jsonl", line);
}

static void rounds_that_cannot_be_followed(void **state)
{
    (void)state;
    static const struct {
        const char *draft, *key, *value, *text;
    } bad[] = {
        {"[18,1337,860]", "\"emitted\":", "[]", "round: that at 1 emitted nothing"},
        {"[18,1337,860]", "\"emitted\":", "[1]", "is not how d_1..d_a and final begin"},
        {"[18,4096,860]", "\"emitted\":", "[18,4096,772]", "emitted id 4096, the vocabulary has 0..2047"},
        {"[18,1337,860]", "\"anchor\":", "99999", "id 99999"},
        {"[18,1337,860]", "\"n\":", "7", "round: is of token"},
    };
    char file[FOLDER_PATH], *text;
    size_t size;
    folder_file(&dir, "along.jsonl", file);
    assert_fine(run("int", "6", (const char *const[]){"--draft", "mtp", "--rounds", file, NULL}));
    assert_int_equal(ts_read_file(file, &text, &size, NULL), TS_OK);
    assert_non_null(strstr(text, "\"draft\":[18,1337,860],\"a\":2,"));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *line;
        write_changed(text, "\"draft\":", bad[i].draft);
        assert_int_equal(ts_read_file(file, &line, &size, NULL), TS_OK);
        write_changed(line, bad[i].key, bad[i].value);
        free(line);
        const int code = run("int", "6", (const char *const[]){"--draft", "mtp", "--along", file, NULL});
        if (code != TS_BAD || !strstr(got.err, bad[i].text))
            fail_msg("%s %s: exit code %d and \"%s\"", bad[i].key, bad[i].value, code, got.err);
    }
    free(text);
}

/* What quantize would add to. */
static void a_config_that_is_no_object(void **state)
{
    (void)state;
    static const char *const names[] = {"config.json",
                                        "tokenizer.json",
                                        "model.safetensors.index.json",
                                        "model-00001-of-00002.safetensors",
                                        "model-00002-of-00002.safetensors",
                                        "mtp.safetensors"};
    char out[FOLDER_PATH];
    folder_empty(&dir);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        copy(names[i]);
    folder_text(&dir, "mtp-config.json", "[]");
    folder_file(&dir, "out", out);
    const int code = capture_run(&got, ts_cmd_quantize, "quantize", "--model", dir.path, "-o", out, NULL);
    assert_refused(code, TS_BAD, "mtp-config.json: must be a JSON object");
    assert_int_equal(access(out, F_OK), -1);
}

static void too_many_tokens(void **state)
{
    (void)state;
    assert_refused(RUN("40000", "--draft", "mtp"), TS_BAD, "positions");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verifier_everywhere), cmocka_unit_test(fast_is_ref32),
        cmocka_unit_test(states_are_hashed),         cmocka_unit_test(options_that_do_not_go_together),
        cmocka_unit_test(drafters_that_are_none),    cmocka_unit_test(records_that_cannot_be_written),
        cmocka_unit_test(records_appear_at_the_end), cmocka_unit_test(the_first_dflash),
        cmocka_unit_test(quantised_drafters),        cmocka_unit_test(a_config_that_is_no_object),
        cmocka_unit_test(too_many_tokens),           cmocka_unit_test(rounds_that_cannot_be_followed),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
