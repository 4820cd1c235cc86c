/* config/gguf_config: metadata as a config.json; what is missing or wrong is named. And the tensors of a GGUF model
 * in their slots, those of a prediction block included. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/gguf_build.h"
#include "base/scratch.h"
#include "config/gguf_config.h"
#include "config/weights.h"
#include "format/block.h"
#include "format/json.h"

#define GOLDEN "golden/models/tiny-qwen35/tiny-qwen35-mtp-q4_k_m.gguf"

enum { KEYS = 20 };

typedef struct {
    const char *key;
    uint32_t value;
    bool left_out;
} pair;

/* What a test changes of a good file. */
typedef struct {
    const char *arch;
    pair pair[KEYS];
    float eps;
    uint32_t sections[3];
    int recurrent; /* entries of recurrent_layers, alternating; 0: no such key */
} model;

static build b;

static model good(void)
{
    return (model){
        .arch = "qwen35",
        .pair = {{"qwen35.block_count", 5, false},           {"qwen35.nextn_predict_layers", 1, false},
                 {"qwen35.context_length", 64, false},       {"qwen35.embedding_length", 32, false},
                 {"qwen35.feed_forward_length", 48, false},  {"qwen35.vocab_size", 96, false},
                 {"qwen35.attention.head_count", 4, false},  {"qwen35.attention.head_count_kv", 2, false},
                 {"qwen35.attention.key_length", 24, false}, {"qwen35.attention.value_length", 24, false},
                 {"qwen35.rope.dimension_count", 14, false}, {"qwen35.full_attention_interval", 2, false},
                 {"qwen35.ssm.conv_kernel", 4, false},       {"qwen35.ssm.state_size", 8, false},
                 {"qwen35.ssm.group_count", 2, false},       {"qwen35.ssm.time_step_rank", 6, false},
                 {"qwen35.ssm.inner_size", 48, false},       {"tokenizer.ggml.eos_token_id", 7, false},
                 {"tokenizer.ggml.eot_token_id", 9, false},  {"tokenizer.ggml.padding_token_id", 1, false}},
        .eps = 1e-6f,
        .sections = {3, 2, 2},
    };
}

static pair *find(model *m, const char *key)
{
    for (int i = 0; i < KEYS; i++)
        if (strcmp(m->pair[i].key, key) == 0)
            return &m->pair[i];
    fail_msg("no %s", key);
    return NULL;
}

static ts_status load(const model *m, ts_config *c, ts_error *err)
{
    char path[FOLDER_PATH];
    uint64_t n = 4 + (m->recurrent > 0);
    for (int i = 0; i < KEYS; i++)
        n += !m->pair[i].left_out;
    put_header(&b, 3, 0, n);
    put_text(&b, "general.architecture", m->arch);
    for (int i = 0; i < KEYS; i++)
        if (!m->pair[i].left_out)
            put_u32(&b, m->pair[i].key, m->pair[i].value);
    put_f32(&b, "qwen35.attention.layer_norm_rms_epsilon", m->eps);
    put_f32(&b, "qwen35.rope.freq_base", 1e7f);
    put_array(&b, "qwen35.rope.dimension_sections", TS_GGUF_I32, 4);
    for (int i = 0; i < 4; i++)
        put_number(&b, i < 3 ? m->sections[i] : 0, 4);
    if (m->recurrent > 0)
        put_array(&b, "qwen35.attention.recurrent_layers", TS_GGUF_BOOL, (uint64_t)m->recurrent);
    for (int i = 0; i < m->recurrent; i++)
        put_number(&b, (uint64_t)i % 2, 1);
    folder_write(&dir, "m.gguf", (const char *)b.bytes, b.n);
    return ts_config_load(folder_file(&dir, "m.gguf", path), c, err);
}

static void reads(void **state)
{
    (void)state;
    static ts_config c;
    model m = good();
    ts_error err = {0};
    if (load(&m, &c, &err) != TS_OK)
        fail_msg("%s: %s", err.tensor, err.reason);
    assert_string_equal(c.model_type, "qwen3_5_text");
    assert_int_equal(c.layers, 4);
    assert_false(c.full[0] || c.full[2]);
    assert_true(c.full[1] && c.full[3]);
    assert_int_equal(c.V, 96);
    assert_int_equal(c.R, 14); /* 24 * (14 / 24.0) is less than 14 */
    assert_int_equal(c.Dv, 8);
    assert_true(c.eps == 1e-6); /* not the f32 */
    assert_true(c.theta == 1e7);
    assert_true(c.tied);
    assert_true(c.n_stop == 2 && c.stop[0] == 7 && c.stop[1] == 9);
    m.recurrent = 5; /* takes precedence */
    assert_int_equal(load(&m, &c, NULL), TS_OK);
    assert_true(c.full[0] && c.full[2]);
    assert_false(c.full[1] || c.full[3]);
}

static void assert_refused(const model *m, const char *key, const char *reason)
{
    static ts_config c;
    ts_error err = {0};
    assert_int_equal(load(m, &c, &err), TS_BAD);
    if (strcmp(err.tensor, key) != 0 || strstr(err.reason, reason) == NULL)
        fail_msg("got \"%s: %s\", want \"%s: %s\"", err.tensor, err.reason, key, reason);
}

static void architectures(void **state)
{
    (void)state;
    model m = good();
    static const char *const others[] = {"llama",
                                         "qwen3",
                                         "dflash",
                                         "qwen3nextx",
                                         "qwen3moe",
                                         "kimi",
                                         "kimi_linear",
                                         "kimi-k3",
                                         "qwen4_exp",
                                         "qwen4exp",
                                         "qwen35x",
                                         "",
                                         "a name of more than thirty-two characters"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        m.arch = others[i];
        assert_refused(&m, "general.architecture", "is not supported");
    }
}

static void absent(void **state)
{
    (void)state;
    static const char *const optional[] = {"qwen35.nextn_predict_layers", "qwen35.full_attention_interval",
                                           "tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                           "tokenizer.ggml.padding_token_id"};
    for (int i = 0; i < KEYS; i++) {
        model m = good();
        bool may = strcmp(m.pair[i].key, "qwen35.vocab_size") == 0; /* then the embedding says it: there is none */
        m.pair[i].left_out = true;
        for (size_t k = 0; k < sizeof optional / sizeof *optional; k++)
            may = may || strcmp(optional[k], m.pair[i].key) == 0;
        if (!may)
            assert_refused(&m, m.pair[i].key, "missing");
    }
    model m = good();
    find(&m, "qwen35.vocab_size")->left_out = true;
    assert_refused(&m, "vocab_size", "");
}

static void values(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        uint32_t value;
        const char *tensor, *reason;
    } wrong[] = {
        {"qwen35.block_count", 1, "block_count", "1 blocks, 1 of them"},
        {"qwen35.block_count", 100000, "block_count", "100000 blocks"},
        {"qwen35.nextn_predict_layers", 9, "block_count", "5 blocks, 9 of them"},
        {"qwen35.attention.value_length", 25, "attention.value_length", "differs"},
        {"qwen35.rope.dimension_count", 16, "qwen35.rope.dimension_sections", "half of rope.dimension_count"},
        {"qwen35.full_attention_interval", 0, "full_attention_interval", "at least 1"},
        {"qwen35.ssm.inner_size", 49, "ssm.inner_size", "not a multiple"},
        {"qwen35.ssm.time_step_rank", 0, "ssm.inner_size", "not a multiple"},
        {"qwen35.embedding_length", 0, "hidden_size", ""},
        {"tokenizer.ggml.eos_token_id", 96, "eos_token_id", "0..95"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        model m = good();
        find(&m, wrong[i].key)->value = wrong[i].value;
        assert_refused(&m, wrong[i].tensor, wrong[i].reason);
    }
    model m = good();
    m.eps = 0;
    assert_refused(&m, "rms_norm_eps", "must be positive");
    m = good();
    m.recurrent = 3;
    assert_refused(&m, "qwen35.attention.recurrent_layers", "each of 4 layers");
}

/* llama.cpp's file. */
static void slots(void **state)
{
    (void)state;
    ts_weights *w = NULL;
    ts_error err = {0};
    if (ts_weights_load_part(GOLDEN, 0, "", &w, &err) != TS_OK)
        fail_msg("%s: %s", err.tensor, err.reason);
    assert_true(w->folded && w->rate && w->tiled);
    assert_int_equal(w->layer[0].conv.n, 1280 * 4);
    for (int h = 0; h < 6; h++)
        assert_true(w->layer[0].A_log.v[h] < 0);
    ts_weights_free(w);
    assert_int_equal(ts_weights_load(GOLDEN, &w, &err), TS_OK);
    assert_int_equal(w->layer[0].gate_proj.format, TS_W_Q4_K);
    assert_int_equal(w->head.format, TS_W_Q6_K);
    ts_weights_free(w);
}

/* The golden file with the scale of one block of a matrix made infinite. */
static void infinite_scale(void **state)
{
    (void)state;
    char *text, path[FOLDER_PATH];
    size_t size;
    ts_weights *w = NULL;
    ts_error err = {0};
    ts_checkpoint *c;
    assert_int_equal(ts_read_file(GOLDEN, &text, &size, NULL), TS_OK);
    assert_int_equal(ts_checkpoint_open(GOLDEN, &c, NULL), TS_OK);
    const ts_tensor *t = ts_checkpoint_find(c, "blk.0.ffn_gate.weight", NULL);
    char *at = text;
    while (at + t->size <= text + size && memcmp(at, t->data, t->size) != 0)
        at++;
    assert_true(at + t->size <= text + size);
    at[144 * 3 + 1] = 0x7c;
    at[144 * 3] = 0;
    ts_checkpoint_close(c);
    folder_write(&dir, "g.gguf", text, size);
    free(text);
    assert_int_equal(ts_weights_load(folder_file(&dir, "g.gguf", path), &w, &err), TS_BAD);
    assert_string_equal(err.tensor, "blk.0.ffn_gate.weight");
    assert_non_null(strstr(err.reason, "finite"));
}

/* Q8_1 has two f16 numbers; Q8_K's one is an f32, whose byte 1 is mantissa. */
static void scales_of_activation_blocks(void **state)
{
    (void)state;
    uint8_t block[292] = {0};
    block[1] = 0x7c;
    assert_true(ts_block_scales_finite(TS_W_Q8_K, block, 1));
    block[2] = 0x80;
    block[3] = 0x7f;
    assert_false(ts_block_scales_finite(TS_W_Q8_K, block, 1));
    block[1] = 0;
    block[3] = 0x7c;
    assert_false(ts_block_scales_finite(TS_W_Q8_1, block, 1));
}

/* The golden file with one name changed. */
static void assert_renamed(const char *from, const char *to, const char *tensor, const char *reason)
{
    char *text, path[FOLDER_PATH];
    size_t size;
    ts_weights *w = NULL;
    ts_error err = {0};
    assert_int_equal(ts_read_file(GOLDEN, &text, &size, NULL), TS_OK);
    for (size_t i = 0; i + strlen(from) < 65914; i++)
        if (memcmp(text + i, from, strlen(from)) == 0)
            memcpy(text + i, to, strlen(from));
    folder_write(&dir, "g.gguf", text, size);
    free(text);
    assert_int_equal(ts_weights_load_part(folder_file(&dir, "g.gguf", path), 0, "", &w, &err), TS_BAD);
    if (strcmp(err.tensor, tensor) != 0 || strstr(err.reason, reason) == NULL)
        fail_msg("got \"%s: %s\", want \"%s: %s\"", err.tensor, err.reason, tensor, reason);
}

static void prediction_blocks(void **state)
{
    (void)state;
    assert_renamed("blk.8.nextn.eh_proj", "blk.8.nextn.eh_prox", "blk.8.nextn.eh_proj.weight", "missing");
    assert_renamed("blk.8.nextn.hnorm", "blk.8.nextn.hnorn", "blk.8.nextn.hnorm.weight", "missing");
    assert_renamed("blk.8.attn_k_norm", "blk.8.attn_k_nora", "blk.8.attn_k_norm.weight", "missing");
    assert_renamed("blk.7.ffn_up", "blk.7.ffn_uq", "blk.7.ffn_up.weight", "missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads),          cmocka_unit_test(architectures),
        cmocka_unit_test(absent),         cmocka_unit_test(values),
        cmocka_unit_test(slots),          cmocka_unit_test(prediction_blocks),
        cmocka_unit_test(infinite_scale), cmocka_unit_test(scales_of_activation_blocks),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
