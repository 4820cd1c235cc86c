#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/scratch.h"
#include "convert.h"
#include "format/json.h"
#include "format/safetensors.h"
#include "quantize.h"
#include "tool.h"
#include "tools/big_model.h"
#include "tools/capture.h"

#define TINY "golden/models/tiny-qwen35"

static capture got;

/* As text; each of the NULL terminated needles must be there. */
static void tells(const char *path, ...)
{
    va_list list;
    if (capture_run(&got, ts_cmd_inspect, "inspect", path, NULL) != TS_OK)
        fail_msg("%s: exit %d %s", path, got.code, got.err);
    va_start(list, path);
    for (const char *want; (want = va_arg(list, const char *)) != NULL;)
        if (!strstr(got.out, want))
            fail_msg("%s lacks \"%s\":\n%.2000s", path, want, got.out);
    va_end(list);
}

static cJSON *inspected(const char *path, const char *flag)
{
    if (capture_run(&got, ts_cmd_inspect, "inspect", path, "--json", flag, NULL) != TS_OK)
        fail_msg("%s: exit %d %s", path, got.code, got.err);
    cJSON *o = cJSON_Parse(got.out);
    assert_non_null(o);
    assert_true(cJSON_GetObjectItem(o, "schema")->valuedouble == 1);
    return o;
}

static double number(const cJSON *o, const char *key)
{
    const cJSON *i = cJSON_GetObjectItemCaseSensitive(o, key);
    if (!cJSON_IsNumber(i))
        fail_msg("no number %s", key);
    return i->valuedouble;
}

/* The row of a list whose first cell is that. */
static const cJSON *row(const cJSON *o, const char *list, const char *first)
{
    const cJSON *r;
    cJSON_ArrayForEach (r, cJSON_GetObjectItemCaseSensitive(o, list))
        if (strcmp(r->child->valuestring, first) == 0)
            return r;
    fail_msg("no %s in %s", first, list);
    return NULL;
}

static void models(void **state)
{
    (void)state;
    char q8[FOLDER_PATH];
    ts_error err = {0};
    folder sub;
    cJSON *o = inspected(TINY, NULL);
    assert_true(number(o, "parameters") == 9885000);
    assert_true(number(o, "bytes") == 2 * 9885000);
    assert_true(number(row(o, "kinds", "mlp"), "parameters") == 8 * 3 * 256 * 512);
    assert_null(cJSON_GetObjectItem(o, "modules"));
    cJSON_Delete(o);
    tells(TINY, "what: model", "hidden: 256", "full_attention_layers: [3,7]", "naming: Hugging Face", NULL);
    snprintf(sub.path, sizeof sub.path, "%.50s/q8", dir.path);
    if (ts_quantize(TINY, folder_file(&dir, "q8", q8), &(ts_quantize_options){.bits = 8, .group = 64}, &err))
        fail_msg("%s: %s", err.file, err.reason);
    o = inspected(q8, NULL);
    assert_true(number(o, "parameters") == 9885000); /* codes count, scales and biases do not */
    assert_true(number(row(o, "kinds", "embedding"), "bytes") == 2048 * 256 + 2 * 2 * 2048 * 4);
    assert_string_equal(cJSON_GetObjectItem(row(o, "modules", "language_model.lm_head"), "storage")->valuestring,
                        "8 bits, group 64");
    cJSON_Delete(o);
    tells(q8, "naming: MLX", "language_model.model.layers.0.mlp.down_proj", NULL);
    folder_remove(&sub);
}

static void converted(const char *golden, const char *type, char out[FOLDER_PATH])
{
    static const char *const end[][2] = {{"-config.json", "config.json"},
                                         {"-weights.safetensors", "model.safetensors"}};
    char from[FOLDER_PATH], *text;
    size_t size;
    ts_convert_result r;
    ts_error err = {0};
    for (int i = 0; i < 2; i++) {
        snprintf(from, sizeof from, "golden/external/%s%s", golden, end[i][0]);
        assert_int_equal(ts_read_file(from, &text, &size, NULL), TS_OK);
        folder_write(&dir, end[i][1], text, size);
        free(text);
    }
    if (ts_convert_gguf(dir.path, folder_file(&dir, "x.gguf", out), type, &r, &err))
        fail_msg("%s: %s", err.tensor, err.reason);
}

/* A stack of matrices is one module: how many, and how they are stored. */
static void stacks_of_experts(void **state)
{
    (void)state;
    char file[FOLDER_PATH];
    converted("rand-qwen35-moe", "f16", file);
    cJSON *o = inspected(file, NULL);
    const cJSON *m = row(o, "modules", "blk.0.ffn_gate_exps");
    assert_string_equal(cJSON_GetObjectItem(m, "storage")->valuestring, "F16");
    assert_true(number(m, "matrices") == 8);
    m = row(o, "modules", "blk.0.ffn_up_shexp");
    assert_null(cJSON_GetObjectItem(m, "matrices"));
    cJSON_Delete(o);
    tells(file, "blk.3.ffn_down_exps  ", "matrices 8", NULL);
    folder_empty(&dir);
}

/* Kimi's norms hold what is multiplied with, whatever the file; its router's bias is no norm. */
static void kimi(void **state)
{
    (void)state;
    char file[FOLDER_PATH];
    converted("rand-kimi-linear", "f32", file);
    tells(dir.path, "naming: Hugging Face", "model_type: kimi_linear", NULL);
    tells(file, "naming: GGUF\n", "blk.3.attn_k_b", NULL);
    cJSON *o = inspected(file, NULL);
    assert_true(number(row(o, "kinds", "head"), "tensors") == 1); /* not attn_output.weight */
    /* Two norms of six layers, the last one, and of two layers the latent's, which is attention's. */
    assert_true(number(row(o, "kinds", "norms"), "tensors") == 2 * 6 + 1);
    assert_true(number(row(o, "kinds", "mlp"), "tensors") == 3 + 5 * 8);
    cJSON_Delete(o);
    converted("rand-qwen3-next-moe", "f32", file);
    tells(file, "naming: GGUF, norms hold 1 + w", "blk.0.attn_gate", NULL);
    folder_empty(&dir);
}

static void files(void **state)
{
    (void)state;
    char path[FOLDER_PATH];
    const uint32_t x[4] = {0x3f800000, 0xc0000000, 0x7fc00000, 0xff800000}, nan = 0x7fc00000;
    const ts_tensor t[] = {
        {"a", TS_F32, 2, {2, 2}, x, 16}, {"b", TS_F32, 1, {1}, &nan, 4}, {"c", TS_F8_E4M3, 1, {4}, x, 4}};
    const ts_meta meta[] = {{"made", "here"}, {"order", "[\"b\",\"a\",\"c\"]"}};
    assert_int_equal(ts_safetensors_write(folder_file(&dir, "t", path), t, 3, meta, 2, NULL), TS_OK);
    tells(path, "what: trace", "made: here", "a  F32", "[2,2]", "bytes 16", NULL);
    cJSON *o = inspected(path, "--stats");
    const cJSON *a = row(o, "tensors", "a"), *b = row(o, "tensors", "b");
    assert_true(number(a, "min") == -2 && number(a, "max") == 1 && number(a, "mean") == -0.5);
    assert_true(number(a, "nan") == 1 && number(a, "inf") == 1);
    assert_true(number(b, "nan") == 1 && !cJSON_GetObjectItem(b, "min"));
    assert_string_equal(cJSON_GetObjectItem(row(o, "tensors", "c"), "stats")->valuestring, "not for this dtype");
    cJSON_Delete(o);
    assert_int_equal(ts_safetensors_write(path, t, 1, meta, 1, NULL), TS_OK);
    tells(path, "what: safetensors", "count: 1", NULL);
}

static void json_files(void **state)
{
    (void)state;
    tells(TINY "/tokenizer.json", "what: tokenizer", "ids: 2048", NULL);
    tells(TINY "/config.json", "what: config", "layers: 8", NULL);
    tells(TINY "/model.safetensors.index.json", "what: shard index", "model-00001-of-00002.safetensors: 53", NULL);
    tells("golden/own/cases/rmsnorm/n1.json", "what: case", "op: rmsnorm", "x: normal", NULL);
}

static void refuses(const char *path, const char *flag, int code, const char *text)
{
    capture_run(&got, ts_cmd_inspect, "inspect", path, flag, NULL);
    if (got.code != code || !strstr(got.err, text))
        fail_msg("%s: exit %d, want %d \"%s\"\n%s", path, got.code, code, text, got.err);
}

static void bad_input(void **state)
{
    (void)state;
    char path[FOLDER_PATH];
    refuses("/none/such", NULL, TS_BAD, "cannot open");
    refuses(dir.path, NULL, TS_BAD, "config.json");
    refuses(TINY, "--stats", TS_USAGE, "--stats");
    refuses("golden/external/provenance.json", NULL, TS_BAD, "no tokenizer, config, shard index or case");
    refuses("Makefile", NULL, TS_BAD, "neither a safetensors file nor JSON");
    folder_text(&dir, "case.json", "{\"kind\":\"op\",\"op\":\"nonsense\"}");
    refuses(folder_file(&dir, "case.json", path), NULL, TS_BAD, "");
    folder_write(&dir, "short", "\x10\0\0\0\0\0\0\0{", 9);
    refuses(folder_file(&dir, "short", path), NULL, TS_BAD, "truncated");
    folder_text(&dir, "empty", "");
    refuses(folder_file(&dir, "empty", path), "--json", TS_BAD, "too few");
    assert_non_null(strstr(got.out, "\"error\""));
}

/* Names, dtypes and shapes of 54 GB in a moment. */
static void big(void **state)
{
    (void)state;
    folder f;
    folder_make(&f);
    if (!big_model(&f)) {
        folder_remove(&f);
        skip();
    }
    cJSON *o = inspected(f.path, NULL);
    assert_true(number(o, "parameters") > 26.8e9 && number(o, "parameters") < 27e9);
    assert_true(number(row(o, "kinds", "embedding"), "parameters") == 248320.0 * 5120);
    assert_true(big_children_mb() < 2048);
    cJSON_Delete(o);
    folder_remove(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models), cmocka_unit_test(stacks_of_experts), cmocka_unit_test(kimi),
        cmocka_unit_test(files),  cmocka_unit_test(json_files),        cmocka_unit_test(bad_input),
        cmocka_unit_test(big),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
