/* touchstone convert of a sparse model (qwen35moe): its experts, router and shared expert are the checkpoint's own
 * values in the places that GGUF has for them, and the file loads as the model it was. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/scratch.h"
#include "config/weights.h"
#include "convert.h"
#include "format/json.h"

#define GOLDEN "golden/external/rand-qwen35-moe"

enum { E = 8, I = 32, C = 64, LAYERS = 4 };

static char path[FOLDER_PATH], model[FOLDER_PATH];

/* A folder with the golden's weights and this config. */
static const char *make_model(const char *config)
{
    char *text;
    size_t size;
    folder_empty(&dir);
    folder_text(&dir, "config.json", config);
    assert_int_equal(ts_read_file(GOLDEN "-weights.safetensors", &text, &size, NULL), TS_OK);
    folder_write(&dir, "model.safetensors", text, size);
    free(text);
    snprintf(model, sizeof model, "%s", dir.path);
    return folder_file(&dir, "x.gguf", path);
}

static char *config_text(void)
{
    char *text;
    size_t size;
    assert_int_equal(ts_read_file(GOLDEN "-config.json", &text, &size, NULL), TS_OK);
    return text;
}

static ts_gguf *converted(const char *type)
{
    ts_convert_result r;
    ts_gguf *g = NULL;
    ts_error err = {0};
    char *config = config_text();
    make_model(config);
    free(config);
    if (ts_convert_gguf(model, path, type, &r, &err) != TS_OK || ts_gguf_open(path, &g, &err) != TS_OK)
        fail_msg("%s: %s", err.tensor, err.reason);
    return g;
}

/* Of the GGUF's tensor `gguf` rows [0, n) of expert e are the rows of expert e of `hf` from `first` on. */
static void assert_rows(const ts_gguf *g, ts_checkpoint *c, int layer, const char *gguf, const char *hf,
                        int64_t first)
{
    char a[128], b[128];
    snprintf(a, sizeof a, "blk.%d.%s.weight", layer, gguf);
    snprintf(b, sizeof b, "model.layers.%d.mlp.%s", layer, hf);
    const ts_tensor *t = ts_gguf_find(g, a), *u = ts_checkpoint_find(c, b, NULL);
    assert_non_null(t);
    assert_non_null(u);
    const bool stack = u->ndim == 3;
    const int64_t n = stack ? t->dim[0] : 1, K = u->dim[u->ndim - 1], N = ts_tensor_count(t) / n / K;
    const int64_t step = ts_tensor_count(u) / n;
    for (int64_t e = 0; e < n; e++)
        for (int64_t i = 0; i < N * K; i++)
            if (ts_tensor_get(t, e * N * K + i) != ts_tensor_get(u, e * step + first * K + i))
                fail_msg("%s: expert %d, element %d", a, (int)e, (int)i);
}

static void round_trip(void **state)
{
    (void)state;
    static const char *const types[] = {"bf16", "f32"};
    ts_checkpoint *c;
    assert_int_equal(ts_checkpoint_open(GOLDEN "-weights.safetensors", &c, NULL), TS_OK);
    for (int i = 0; i < 2; i++) {
        ts_gguf *g = converted(types[i]);
        /* One stack of gate and up became two. */
        assert_int_equal(ts_gguf_count(g), ts_checkpoint_count(c) + LAYERS);
        for (int layer = 0; layer < LAYERS; layer++) {
            assert_rows(g, c, layer, "ffn_gate_exps", "experts.gate_up_proj", 0);
            assert_rows(g, c, layer, "ffn_up_exps", "experts.gate_up_proj", I);
            assert_rows(g, c, layer, "ffn_down_exps", "experts.down_proj", 0);
            assert_rows(g, c, layer, "ffn_gate_inp", "gate.weight", 0);
            assert_rows(g, c, layer, "ffn_gate_inp_shexp", "shared_expert_gate.weight", 0);
            assert_rows(g, c, layer, "ffn_gate_shexp", "shared_expert.gate_proj.weight", 0);
            assert_rows(g, c, layer, "ffn_up_shexp", "shared_expert.up_proj.weight", 0);
            assert_rows(g, c, layer, "ffn_down_shexp", "shared_expert.down_proj.weight", 0);
        }
        ts_gguf_close(g);
    }
    ts_checkpoint_close(c);
}

static void assert_shape(const ts_gguf *g, const char *name, ts_dtype dtype, int ndim, const int64_t *dim)
{
    const ts_tensor *t = ts_gguf_find(g, name);
    assert_non_null(t);
    assert_int_equal(t->dtype, dtype);
    assert_int_equal(t->ndim, ndim);
    for (int i = 0; i < ndim; i++)
        assert_int_equal(t->dim[i], dim[i]);
}

/* llama.cpp's: three dims of stacks, one of the shared gate, and what chooses experts is f32 in every file. */
static void shapes(void **state)
{
    (void)state;
    ts_gguf *g = converted("bf16");
    assert_shape(g, "blk.0.ffn_gate_exps.weight", TS_BF16, 3, (int64_t[]){E, I, C});
    assert_shape(g, "blk.0.ffn_down_exps.weight", TS_BF16, 3, (int64_t[]){E, C, I});
    assert_shape(g, "blk.0.ffn_gate_inp.weight", TS_F32, 2, (int64_t[]){E, C});
    assert_shape(g, "blk.0.ffn_gate_inp_shexp.weight", TS_F32, 1, (int64_t[]){C});
    ts_gguf_close(g);
}

static void assert_same(const ts_matrix *a, const ts_matrix *b)
{
    assert_true(a->N == b->N && a->K == b->K && a->format == b->format);
    assert_memory_equal(a->data, b->data, (size_t)(a->N * a->K * 2));
}

static void loads(void **state)
{
    (void)state;
    ts_weights *w = NULL, *hf = NULL;
    ts_error err = {0};
    ts_gguf_close(converted("bf16"));
    if (ts_weights_load(path, &w, &err) != TS_OK)
        fail_msg("%s: %s", err.tensor, err.reason);
    assert_int_equal(ts_weights_load(model, &hf, NULL), TS_OK);
    assert_true(w->folded && w->rate && w->tiled);
    assert_memory_equal(&w->cfg, &hf->cfg, sizeof w->cfg);
    for (int layer = 0; layer < LAYERS; layer++) {
        const ts_layer *a = &w->layer[layer], *b = &hf->layer[layer];
        for (int e = 0; e < E; e++) {
            assert_same(&a->expert_gate[e], &b->expert_gate[e]);
            assert_same(&a->expert_up[e], &b->expert_up[e]);
            assert_same(&a->expert_down[e], &b->expert_down[e]);
        }
        assert_true(a->shared_gate.N == 1 && a->shared_gate.K == C && a->shared_gate.format == TS_W_F32);
        assert_true(a->router.N == E && a->router.K == C && a->router.format == TS_W_F32);
    }
    ts_weights_free(w);
    ts_weights_free(hf);
}

/* The converted file with one letter of a key changed. */
static void without_key(const char *key, const char *reason)
{
    char *text, full[64];
    size_t size, at = 0;
    ts_config c;
    ts_error err = {0};
    const int n = snprintf(full, sizeof full, "qwen35moe.%s", key);
    assert_int_equal(ts_read_file(path, &text, &size, NULL), TS_OK);
    while (at + (size_t)n < size && memcmp(text + at, full, (size_t)n) != 0)
        at++;
    assert_true(at + (size_t)n < size);
    text[at + (size_t)n - 1] = 'X';
    folder_write(&dir, "y.gguf", text, size);
    free(text);
    char other[FOLDER_PATH];
    assert_int_equal(ts_config_load(folder_file(&dir, "y.gguf", other), &c, &err), TS_BAD);
    if (strcmp(err.tensor, full) != 0 || strcmp(err.reason, reason) != 0)
        fail_msg("got \"%s: %s\", want \"%s: %s\"", err.tensor, err.reason, full, reason);
}

static void keys(void **state)
{
    (void)state;
    static const char *const needed[] = {"expert_count", "expert_used_count", "expert_feed_forward_length",
                                         "expert_shared_feed_forward_length"};
    ts_gguf_close(converted("bf16"));
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        without_key(needed[i], "missing");
}

static void put(ts_gguf_out *out, size_t *bytes, size_t *n, const char *name, int ndim, const int64_t *dim)
{
    bytes[(*n)++] = ts_gguf_put_tensor(out, name, ndim, dim, ts_ggml_type_find("F32"));
}

/* The tensors of g, and a block of multi-token prediction like the last one; `left_out` of it is not there. */
static size_t put_with_mtp(ts_gguf_out *out, const ts_gguf *g, const char *left_out, size_t *bytes)
{
    static const char *const norms[] = {"enorm", "hnorm", "shared_head_norm"};
    char name[64];
    size_t n = 0;
    for (size_t i = 0; i < ts_gguf_count(g); i++) {
        const ts_tensor *t = ts_gguf_at(g, i);
        put(out, bytes, &n, t->name, t->ndim, t->dim);
        if (strncmp(t->name, "blk.3.", 6) != 0 || strcmp(t->name + 6, left_out) == 0)
            continue;
        snprintf(name, sizeof name, "blk.4.%s", t->name + 6);
        put(out, bytes, &n, name, t->ndim, t->dim);
    }
    put(out, bytes, &n, "blk.4.nextn.eh_proj.weight", 2, (int64_t[]){C, 2 * C});
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "blk.4.nextn.%s.weight", norms[i]);
        put(out, bytes, &n, name, 1, (int64_t[]){C});
    }
    return n;
}

/* Writes it, all zeros, and loads it. */
static ts_status load_with_mtp(const char *left_out, ts_error *err)
{
    static const float zeros[E * I * C];
    size_t bytes[256];
    char other[FOLDER_PATH];
    ts_weights *w = NULL;
    ts_gguf_out out = {0};
    ts_out file;
    ts_gguf *g = converted("f32");
    assert_int_equal(ts_weights_load(model, &w, NULL), TS_OK);
    w->cfg.layers++;
    assert_int_equal(ts_convert_keys(w, model, ts_ggml_type_find("F32"), &out, NULL), TS_OK);
    w->cfg.layers--;
    ts_weights_free(w);
    ts_gguf_put_u32(&out, "qwen35moe.nextn_predict_layers", 1);
    const size_t n = put_with_mtp(&out, g, left_out, bytes);
    assert_int_equal(ts_out_open(&file, folder_file(&dir, "z.gguf", other), NULL), TS_OK);
    assert_int_equal(ts_gguf_out_begin(&out, &file, NULL), TS_OK);
    for (size_t i = 0; i < n; i++) {
        assert_true(bytes[i] <= sizeof zeros);
        assert_int_equal(ts_out_write(&file, zeros, bytes[i], NULL), TS_OK);
        assert_int_equal(ts_gguf_out_pad(&file, bytes[i], NULL), TS_OK);
    }
    assert_int_equal(ts_out_close(&file, TS_OK, NULL), TS_OK);
    ts_gguf_out_free(&out);
    ts_gguf_close(g);
    ts_status status = ts_weights_load(other, &w, err);
    if (status == TS_OK)
        ts_weights_free(w);
    return status;
}

/* A block of prediction has experts too: they are looked for, and then left aside. */
static void prediction(void **state)
{
    (void)state;
    ts_error err = {0};
    if (load_with_mtp("", &err) != TS_OK)
        fail_msg("%s: %s", err.tensor, err.reason);
    assert_int_equal(load_with_mtp("ffn_up_exps.weight", &err), TS_BAD);
    assert_non_null(strstr(err.tensor, "blk.4.ffn_up_exps"));
}

/* `key` is one that the golden's config does not have. */
static void assert_refused(const char *key, const char *type, const char *reason)
{
    char *config = config_text();
    const size_t size = strlen(config) + strlen(key) + 2;
    char *text = malloc(size);
    ts_convert_result r;
    ts_error err = {0};
    assert_non_null(text);
    snprintf(text, size, "{%s%s", key, config + 1);
    make_model(text);
    assert_int_equal(ts_convert_gguf(model, path, type, &r, &err), TS_BAD);
    if (strstr(err.reason, reason) == NULL)
        fail_msg("got \"%s\", want \"%s\"", err.reason, reason);
    free(text);
    free(config);
}

/* The function of the model would be another one. */
static void mistakes(void **state)
{
    (void)state;
    assert_refused("\"norm_topk_prob\": false,", "bf16", "has no key in qwen35moe");
    assert_refused("", "q8_0", "rows of 48 are not whole blocks of 32");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trip), cmocka_unit_test(shapes),
                                       cmocka_unit_test(loads),      cmocka_unit_test(keys),
                                       cmocka_unit_test(prediction), cmocka_unit_test(mistakes)};
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
