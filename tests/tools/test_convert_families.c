/* touchstone convert of Qwen3-Next and Kimi-Linear: the file loads as the model that it was made of, and its
 * forward pass has the folder's bits, in f32 and in bf16. Where every value lies is said here a second time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/scratch.h"
#include "config/weights.h"
#include "convert.h"
#include "format/json.h"
#include "ref.h"

enum { T = 23 };

/* Not Qwen3.5: its value heads change places, and with them the order of out_proj's sums. */
static const char *const families[] = {"rand-qwen3-next-moe", "rand-kimi-linear"};

static char path[FOLDER_PATH];

static void copy(const char *golden, const char *end, const char *to)
{
    char from[FOLDER_PATH], *text;
    size_t size;
    snprintf(from, sizeof from, "golden/external/%s%s", golden, end);
    assert_int_equal(ts_read_file(from, &text, &size, NULL), TS_OK);
    folder_write(&dir, to, text, size);
    free(text);
}

static void make_folder(const char *golden)
{
    folder_empty(&dir);
    copy(golden, "-config.json", "config.json");
    copy(golden, "-weights.safetensors", "model.safetensors");
}

static void converted(const char *golden, const char *type)
{
    ts_convert_result r;
    ts_error err = {0};
    make_folder(golden);
    if (ts_convert_gguf(dir.path, folder_file(&dir, "x.gguf", path), type, &r, &err) != TS_OK)
        fail_msg("%s: %s: %s", golden, err.tensor, err.reason);
}

static ts_weights *loaded(const char *from)
{
    ts_weights *w = NULL;
    ts_error err = {0};
    if (ts_weights_load(from, &w, &err) != TS_OK)
        fail_msg("%s: %s: %s", from, err.tensor, err.reason);
    return w;
}

/* All rows of logits [T,V]. */
static float *logits(const ts_weights *w)
{
    const int64_t V = w->cfg.V;
    float *z = malloc((size_t)(T * V) * sizeof *z);
    ts_ref_model *m;
    ts_ref_state *s;
    int32_t ids[T];
    assert_non_null(z);
    for (int i = 0; i < T; i++)
        ids[i] = (int32_t)((i * 37 + 5) % V);
    assert_int_equal(ts_ref32.model_new(w, ts_profile_find("ts"), &m, NULL), TS_OK);
    assert_int_equal(ts_ref32.state_new(m, T, &s, NULL), TS_OK);
    assert_int_equal(ts_ref32.forward(m, s, ids, T, T, z, NULL, NULL), TS_OK);
    ts_ref32.state_free(s);
    ts_ref32.model_free(m);
    return z;
}

static void same_function(void **state)
{
    (void)state;
    static const char *const types[] = {"bf16", "f32"};
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (int i = 0; i < 2; i++) {
            converted(families[f], types[i]);
            ts_weights *w = loaded(path), *hf = loaded(dir.path);
            assert_true(w->folded && w->rate);
            assert_memory_equal(&w->cfg, &hf->cfg, sizeof w->cfg);
            float *a = logits(w), *b = logits(hf);
            for (int64_t k = 0; k < T * w->cfg.V; k++)
                if (memcmp(&a[k], &b[k], sizeof *a) != 0)
                    fail_msg("%s, %s: logit %d of row %d: %.9g, the folder has %.9g", families[f], types[i],
                             (int)(k % w->cfg.V), (int)(k / w->cfg.V), (double)a[k], (double)b[k]);
            free(a);
            free(b);
            ts_weights_free(w);
            ts_weights_free(hf);
        }
}

static void assert_shape(const ts_gguf *g, const char *name, ts_dtype dtype, int ndim, const int64_t *dim)
{
    const ts_tensor *t = ts_gguf_find(g, name);
    if (t == NULL)
        fail_msg("no %s", name);
    if (t->dtype != dtype || t->ndim != ndim || memcmp(t->dim, dim, (size_t)ndim * sizeof *dim) != 0)
        fail_msg("%s has another type or shape", name);
}

/* llama.cpp's, the slowest dim first. */
static void shapes(void **state)
{
    (void)state;
    ts_gguf *g;
    converted("rand-qwen3-next-moe", "f16");
    assert_int_equal(ts_gguf_open(path, &g, NULL), TS_OK);
    assert_shape(g, "blk.0.attn_qkv.weight", TS_F16, 2, (int64_t[]){160, 64});
    assert_shape(g, "blk.0.attn_gate.weight", TS_F16, 2, (int64_t[]){96, 64});
    assert_shape(g, "blk.0.ssm_ba.weight", TS_F16, 2, (int64_t[]){12, 64});
    assert_null(ts_gguf_find(g, "blk.0.ssm_in.weight"));
    assert_null(ts_gguf_find(g, "blk.0.ssm_beta.weight"));
    ts_gguf_close(g);
    converted("rand-kimi-linear", "q8_0");
    assert_int_equal(ts_gguf_open(path, &g, NULL), TS_OK);
    assert_shape(g, "blk.0.ssm_conv1d_k.weight", TS_F32, 4, (int64_t[]){1, 64, 1, 4});
    assert_shape(g, "blk.0.ssm_a", TS_F32, 4, (int64_t[]){1, 1, 2, 1});
    assert_shape(g, "blk.0.ssm_dt.bias", TS_F32, 1, (int64_t[]){64});
    assert_shape(g, "blk.3.attn_k_b.weight", TS_F32, 3, (int64_t[]){2, 32, 16});
    assert_shape(g, "blk.3.attn_v_b.weight", TS_F32, 3, (int64_t[]){2, 16, 32});
    assert_shape(g, "blk.3.exp_probs_b.bias", TS_F32, 1, (int64_t[]){8});
    assert_shape(g, "blk.3.ffn_norm.weight", TS_F32, 1, (int64_t[]){64});
    assert_null(ts_gguf_find(g, "blk.3.attn_kv_b.weight"));
    assert_null(ts_gguf_find(g, "blk.3.post_attention_norm.weight"));
    ts_gguf_close(g);
}

/* Element (row, column) of a tensor of both files, the GGUF's by its number. */
static void assert_value(const ts_gguf *g, ts_checkpoint *c, const char *gguf, int64_t at, const char *hf,
                         int64_t row, int64_t column)
{
    const ts_tensor *t = ts_gguf_find(g, gguf), *u = ts_checkpoint_find(c, hf, NULL);
    const int64_t K = u->dim[u->ndim - 1];
    if (ts_tensor_get(t, at) != ts_tensor_get(u, row * K + column))
        fail_msg("%s[%d] is not %s[%d,%d]", gguf, (int)at, hf, (int)row, (int)column);
}

/* Qwen3-Next, Hk 2, r 3, Dk = Dv = 16: rows of a key head are 16 of q, 16 of k, 48 of v, 48 of z. */
static void rows_by_kind(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t row, from;
    } row[] = {{"attn_qkv", 0, 0},    {"attn_qkv", 15, 15},   {"attn_qkv", 16, 128},  {"attn_qkv", 32, 16},
               {"attn_qkv", 48, 144}, {"attn_qkv", 64, 32},   {"attn_qkv", 111, 79},  {"attn_qkv", 112, 160},
               {"attn_gate", 0, 80},  {"attn_gate", 47, 127}, {"attn_gate", 48, 208}, {"attn_gate", 95, 255}};
    ts_gguf *g;
    ts_checkpoint *c;
    converted("rand-qwen3-next-moe", "bf16");
    assert_int_equal(ts_gguf_open(path, &g, NULL), TS_OK);
    assert_int_equal(ts_checkpoint_open(dir.path, &c, NULL), TS_OK);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        for (int64_t k = 0; k < 64; k++) {
            char name[64];
            snprintf(name, sizeof name, "blk.1.%s.weight", row[i].name);
            assert_value(g, c, name, row[i].row * 64 + k, "model.layers.1.linear_attn.in_proj_qkvz.weight",
                         row[i].from, k);
        }
    ts_gguf_close(g);
    ts_checkpoint_close(c);
}

/* Kimi, 2 heads, Dn = Dm = 16, rank 32; convolutions of 64 channels each. */
static void halves_and_thirds(void **state)
{
    (void)state;
    static const char *const conv[] = {"ssm_conv1d_q", "ssm_conv1d_k", "ssm_conv1d_v"};
    ts_gguf *g;
    ts_checkpoint *c;
    converted("rand-kimi-linear", "bf16");
    assert_int_equal(ts_gguf_open(path, &g, NULL), TS_OK);
    assert_int_equal(ts_checkpoint_open(dir.path, &c, NULL), TS_OK);
    for (int64_t h = 0; h < 2; h++)
        for (int64_t i = 0; i < 16; i++)
            for (int64_t r = 0; r < 32; r++) {
                const char *hf = "model.layers.3.self_attn.kv_b_proj.weight";
                assert_value(g, c, "blk.3.attn_k_b.weight", (h * 32 + r) * 16 + i, hf, h * 32 + i, r);
                assert_value(g, c, "blk.3.attn_v_b.weight", (h * 16 + i) * 32 + r, hf, h * 32 + 16 + i, r);
            }
    for (int64_t s = 0; s < 3; s++)
        for (int64_t i = 0; i < 64 * 4; i++) {
            char name[64];
            snprintf(name, sizeof name, "blk.0.%s.weight", conv[s]);
            assert_value(g, c, name, i, "model.layers.0.self_attn.conv1d.weight", s * 64 + i / 4, i % 4);
        }
    ts_gguf_close(g);
    ts_checkpoint_close(c);
}

/* The converted file's bytes, and where the key's own are: before them is their number, so that
 * attention.key_length is not found in attention.key_length_mla. */
static char *find_key(const char *key, size_t *at, size_t *size)
{
    char *text;
    const size_t n = strlen(key);
    assert_int_equal(ts_read_file(path, &text, size, NULL), TS_OK);
    for (*at = 8; *at + n < *size; ++*at)
        if ((size_t)text[*at - 8] == n && memcmp(text + *at, key, n) == 0)
            return text;
    fail_msg("no %s", key);
    return NULL;
}

static void refuses_bytes(const char *text, size_t size, const char *tensor, const char *reason)
{
    char changed[FOLDER_PATH];
    ts_config c;
    ts_error err = {0};
    folder_write(&dir, "y.gguf", text, size);
    assert_int_equal(ts_config_load(folder_file(&dir, "y.gguf", changed), &c, &err), TS_BAD);
    if (strcmp(err.tensor, tensor) != 0 || strstr(err.reason, reason) == NULL)
        fail_msg("got \"%s: %s\", want \"%s: %s\"", err.tensor, err.reason, tensor, reason);
}

/* With the last letter of the key changed. */
static void without_key(const char *arch, const char *key)
{
    char full[96];
    size_t at, size;
    snprintf(full, sizeof full, "%s.%s", arch, key);
    char *text = find_key(full, &at, &size);
    text[at + strlen(full) - 1] = 'X';
    refuses_bytes(text, size, full, "missing");
    free(text);
}

/* With byte `byte` behind the key, its type included, changed. */
static void with_byte(const char *key, size_t byte, char value, const char *tensor, const char *reason)
{
    size_t at, size;
    char *text = find_key(key, &at, &size);
    text[at + strlen(key) + byte] = value;
    refuses_bytes(text, size, tensor, reason);
    free(text);
}

static void needed_keys(void **state)
{
    (void)state;
    static const char *const next[] = {
        "context_length",       "embedding_length",  "attention.head_count", "attention.head_count_kv",
        "expert_count",         "expert_used_count", "attention.key_length", "attention.value_length",
        "rope.dimension_count", "ssm.conv_kernel",   "ssm.state_size",       "ssm.group_count",
        "ssm.time_step_rank",   "ssm.inner_size",    "rope.freq_base",       "expert_shared_feed_forward_length"};
    static const char *const kimi[] = {"context_length",
                                       "embedding_length",
                                       "feed_forward_length",
                                       "attention.head_count",
                                       "attention.head_count_kv",
                                       "attention.key_length",
                                       "attention.key_length_mla",
                                       "attention.value_length_mla",
                                       "attention.kv_lora_rank",
                                       "rope.dimension_count",
                                       "ssm.conv_kernel",
                                       "kda.head_dim",
                                       "expert_count",
                                       "expert_used_count",
                                       "expert_feed_forward_length",
                                       "expert_weights_scale",
                                       "leading_dense_block_count"};
    converted("rand-qwen3-next-moe", "bf16");
    for (size_t i = 0; i < sizeof next / sizeof *next; i++)
        without_key("qwen3next", next[i]);
    converted("rand-kimi-linear", "bf16");
    for (size_t i = 0; i < sizeof kimi / sizeof *kimi; i++)
        without_key("kimi-linear", kimi[i]);
}

/* A number is behind its type (4 bytes), an array's first behind the element's type and the count too. */
static void wrong_keys(void **state)
{
    (void)state;
    converted("rand-kimi-linear", "bf16");
    with_byte("kimi-linear.expert_gating_func", 4, 1, "expert_gating_func", "only 2 (sigmoid)");
    with_byte("kimi-linear.expert_weights_norm", 4, 0, "kimi-linear.expert_weights_norm", "only true");
    with_byte("kimi-linear.attention.key_length", 4, 41, "attention.key_length", "is not attention.kv_lora_rank");
    with_byte("kimi-linear.attention.key_length_mla", 4, 8, "attention.key_length_mla", "must exceed");
    with_byte("kimi-linear.attention.head_count_kv", 16 + 3 * 4, 2, "kimi-linear.attention.head_count_kv",
              "more than one head");
}

/* The golden's config with one member replaced, or with one more. */
static void assert_refused(const char *golden, const char *key, cJSON *value, const char *reason)
{
    ts_convert_result r;
    ts_error err = {0};
    cJSON *config = NULL;
    make_folder(golden);
    assert_int_equal(ts_json_load(folder_file(&dir, "config.json", path), &config, NULL), TS_OK);
    cJSON_DeleteItemFromObjectCaseSensitive(config, key);
    cJSON_AddItemToObject(config, key, value);
    assert_int_equal(ts_json_save(path, config, NULL), TS_OK);
    cJSON_Delete(config);
    assert_int_equal(ts_convert_gguf(dir.path, folder_file(&dir, "x.gguf", path), "bf16", &r, &err), TS_BAD);
    if (strstr(err.reason, reason) == NULL)
        fail_msg("got \"%s\", want \"%s\"", err.reason, reason);
}

/* What GGUF has no word for. */
static void without_words(void **state)
{
    (void)state;
    assert_refused("rand-qwen3-next-moe", "norm_topk_prob", cJSON_CreateFalse(), "has no key in qwen3next");
    assert_refused("rand-kimi-linear", "moe_renormalize", cJSON_CreateFalse(), "has no key in kimi-linear");
    assert_refused("rand-kimi-linear", "gate_lower_bound", cJSON_CreateNumber(-5), "has no key in kimi-linear");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_function), cmocka_unit_test(shapes),
                                       cmocka_unit_test(rows_by_kind),  cmocka_unit_test(halves_and_thirds),
                                       cmocka_unit_test(needed_keys),   cmocka_unit_test(wrong_keys),
                                       cmocka_unit_test(without_words)};
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
