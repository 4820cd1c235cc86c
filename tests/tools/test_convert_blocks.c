/* touchstone convert to ggml's block types: the bytes are ggml's own, those that its file quantisers made of the
 * same rows (golden ggml-quants); and a model of one layer reads back. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/scratch.h"
#include "convert.h"
#include "format/json.h"

#define MODEL "golden/models/tiny-qwen35"
#define GOLDEN "golden/external/peer/ggml-quants.safetensors"
#define TARGET "model.layers.0.mlp.down_proj.weight"

enum { ROWS = 10, N = 256, K = 512 };

static float down[N][K]; /* of which the first rows are the golden's */
static char path[FOLDER_PATH];

static bool wanted(const char *name)
{
    return strncmp(name, "model.layers.", 13) != 0 || strncmp(name, "model.layers.0.", 15) == 0;
}

/* The tiny model's first layer, with `down` in it. */
static void make_model(void)
{
    cJSON *config = NULL;
    ts_checkpoint *c = NULL;
    ts_tensor t[32];
    size_t n = 0;
    char file[FOLDER_PATH];
    assert_int_equal(ts_json_load(MODEL "/config.json", &config, NULL), TS_OK);
    cJSON_ReplaceItemInObject(config, "num_hidden_layers", cJSON_CreateNumber(1));
    cJSON_ReplaceItemInObject(config, "layer_types",
                              cJSON_CreateStringArray((const char *[]){"linear_attention"}, 1));
    assert_int_equal(ts_json_save(folder_file(&dir, "config.json", file), config, NULL), TS_OK);
    cJSON_Delete(config);
    assert_int_equal(ts_checkpoint_open(MODEL, &c, NULL), TS_OK);
    for (size_t i = 0; i < ts_checkpoint_count(c); i++) {
        if (!wanted(ts_checkpoint_at(c, i)->name))
            continue;
        assert_true(n < 32);
        t[n] = *ts_checkpoint_at(c, i);
        if (strcmp(t[n].name, TARGET) == 0) {
            t[n].dtype = TS_F32;
            t[n].data = down;
            t[n].size = sizeof down;
        }
        n++;
    }
    folder_file(&dir, "model.safetensors", file);
    assert_int_equal(ts_safetensors_write(file, t, n, NULL, 0, NULL), TS_OK);
    ts_checkpoint_close(c);
}

static ts_status convert(const char *type, ts_error *err)
{
    ts_convert_result r;
    return ts_convert_gguf(dir.path, folder_file(&dir, "x.gguf", path), type, &r, err);
}

/* ggml's bytes of the golden's rows. */
static void assert_bytes(const ts_safetensors *golden, const char *type, const char *upper)
{
    char name[64];
    ts_gguf *g;
    ts_error err = {0};
    if (convert(type, &err) != TS_OK || ts_gguf_open(path, &g, &err) != TS_OK)
        fail_msg("%s: %s: %s", type, err.tensor, err.reason);
    snprintf(name, sizeof name, "w.%s.file", type);
    if (name[4] != '\0' && strstr(name, "_k.") != NULL)
        strstr(name, "_k.")[1] = 'K';
    const ts_tensor *want = ts_safetensors_find(golden, name), *got = ts_gguf_find(g, "blk.0.ffn_down.weight");
    assert_non_null(want);
    assert_non_null(got);
    const int32_t id = ts_ggml_type_find(upper)->id;
    const ts_gguf_value *most = ts_gguf_get(g, "general.file_type");
    assert_non_null(most);
    for (size_t i = 0; i < ts_gguf_count(g); i++)
        if (ts_gguf_at(g, i) == got)
            assert_int_equal(ts_gguf_type(g, i)->id, id);
    assert_int_equal(got->size / N, want->size / ROWS);
    for (size_t i = 0; i < want->size; i++)
        if (((const uint8_t *)got->data)[i] != ((const uint8_t *)want->data)[i])
            fail_msg("%s: byte %zu of row %zu", type, i % (want->size / ROWS), i / (want->size / ROWS));
    ts_gguf_close(g);
}

static void ggmls_bytes(void **state)
{
    (void)state;
    static const char *const types[][2] = {{"q8_0", "Q8_0"},     {"q4_0", "Q4_0"},  {"q4_1", "Q4_1"},
                                           {"q5_0", "Q5_0"},     {"q5_1", "Q5_1"},  {"q4_k", "Q4_K"},
                                           {"q5_k", "Q5_K"},     {"q6_k", "Q6_K"},  {"iq4_nl", "IQ4_NL"},
                                           {"iq4_xs", "IQ4_XS"}, {"mxfp4", "MXFP4"}};
    ts_safetensors *golden;
    assert_int_equal(ts_safetensors_open(GOLDEN, &golden, NULL), TS_OK);
    memset(down, 0, sizeof down);
    memcpy(down, ts_safetensors_find(golden, "x")->data, ROWS * sizeof *down);
    make_model();
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        assert_bytes(golden, types[i][0], types[i][1]);
        ts_weights *w = NULL;
        ts_error err = {0};
        if (ts_weights_load(path, &w, &err) != TS_OK)
            fail_msg("%s: %s: %s", types[i][0], err.tensor, err.reason);
        ts_weights_free(w);
    }
    ts_safetensors_close(golden);
}

/* A scale is an f16: numbers that it cannot reach are named, not written as infinity. */
static void too_large(void **state)
{
    (void)state;
    static const char *const types[] = {"q8_0", "q4_0", "q4_1", "q5_1", "q4_k", "q6_k", "iq4_nl", "iq4_xs"};
    memset(down, 0, sizeof down);
    down[7][300] = 1e30f;
    make_model();
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        ts_error err = {0};
        if (convert(types[i], &err) != TS_BAD)
            fail_msg("%s was written", types[i]);
        assert_string_equal(err.tensor, "blk.0.ffn_down.weight");
        if (strstr(err.reason, "row 7 holds a number too large for") == NULL)
            fail_msg("%s: %s", types[i], err.reason);
    }
}

/* No other type is taken instead, as llama.cpp's quantiser would: the rows of down_proj are whole blocks, those of
 * the first model of 64 columns are not. */
static void rows_of_part_blocks(void **state)
{
    (void)state;
    static const char *const end[][2] = {{"-config.json", "config.json"},
                                         {"-weights.safetensors", "model.safetensors"}};
    ts_error err = {0};
    for (int i = 0; i < 2; i++) {
        char from[FOLDER_PATH], *text;
        size_t size;
        snprintf(from, sizeof from, "golden/external/rand-kimi-linear%s", end[i][0]);
        assert_int_equal(ts_read_file(from, &text, &size, NULL), TS_OK);
        folder_write(&dir, end[i][1], text, size);
        free(text);
    }
    assert_int_equal(convert("q4_k", &err), TS_BAD);
    assert_string_equal(err.tensor, "token_embd.weight");
    assert_string_equal(err.reason, "rows of 64 are not whole blocks of 256 (Q4_K)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ggmls_bytes), cmocka_unit_test(too_large),
                                       cmocka_unit_test(rows_of_part_blocks)};
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
