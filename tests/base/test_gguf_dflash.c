/* A DFlash2 drafter as GGUF: the golden one under GGUF's names and keys, said here a second time, loads as the
 * drafter that it is; and what its keys lack or get wrong is named. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/scratch.h"
#include "config/draft.h"
#include "config/gguf_config.h"
#include "format/gguf_write.h"

#define MODEL "golden/models/tiny-qwen35"
#define DRAFTER MODEL "/dflash2.safetensors"

/* What a test changes of a good file: a key left out (or added), or one of another value. */
typedef struct {
    const char *arch, *without, *key;
    uint32_t value;
    uint32_t tap[3];
    bool pattern, plain_mask;
} file;

static char path[FOLDER_PATH];

static file good(void)
{
    return (file){.arch = "dflash", .without = "", .key = "", .tap = {2, 4, 7}, .pattern = true};
}

static const struct {
    const char *key;
    uint32_t value;
} numbers[] = {{"block_count", 3},
               {"embedding_length", 256},
               {"feed_forward_length", 512},
               {"attention.head_count", 6},
               {"attention.head_count_kv", 2},
               {"attention.key_length", 64},
               {"attention.value_length", 64},
               {"attention.sliding_window", 64},
               {"block_size", 8},
               {"conv_kernel_size", 2},
               {"conv_group_size", 16},
               {"selector_rank", 64},
               {"selector_top_k", 16},
               {"mask_token_id", 2045}};

static void put_keys(const file *f, ts_gguf_out *out)
{
    char key[64];
    ts_gguf_put_text(out, "general.architecture", f->arch);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const bool changed = strcmp(numbers[i].key, f->key) == 0;
        snprintf(key, sizeof key, "dflash.%s", numbers[i].key);
        if (strcmp(numbers[i].key, f->without) != 0)
            ts_gguf_put_u32(out, key, changed ? f->value : numbers[i].value);
    }
    if (f->key[0] == '+') {
        snprintf(key, sizeof key, "dflash.%s", f->key + 1);
        ts_gguf_put_u32(out, key, f->value);
    }
    if (f->plain_mask)
        ts_gguf_put_u32(out, "tokenizer.ggml.mask_token_id", f->value);
    ts_gguf_put_f32(out, "dflash.attention.layer_norm_rms_epsilon", 1e-6f);
    ts_gguf_put_f32(out, "dflash.rope.freq_base", 1e7f);
    if (strcmp("attention.causal", f->without) != 0)
        ts_gguf_put_bool(out, "dflash.attention.causal", false);
    if (f->pattern)
        ts_gguf_put_array(out, "dflash.attention.sliding_window_pattern", TS_GGUF_BOOL, 3);
    for (int i = 0; i < 3 && f->pattern; i++)
        ts_gguf_put_element(out, TS_GGUF_BOOL, 1);
    if (strcmp("target_layers", f->without) == 0)
        return;
    ts_gguf_put_array(out, "dflash.target_layers", TS_GGUF_I32, 3);
    for (int i = 0; i < 3; i++)
        ts_gguf_put_element(out, TS_GGUF_I32, f->tap[i]);
}

/* GGUF's name of a tensor of the golden. */
static void gguf_name(const char *hf, char out[96])
{
    static const char *const map[][2] = {
        {"fc.weight", "fc.weight"},
        {"hidden_norm.weight", "enc.output_norm.weight"},
        {"norm.weight", "output_norm.weight"},
        {"candidate_selector.hidden_projection.weight", "selector_hidden.weight"},
        {"candidate_selector.predecessor_codebook", "selector_predecessor.weight"},
        {"candidate_selector.successor_codebook", "selector_successor.weight"},
        {"input_layernorm.weight", "attn_norm.weight"},
        {"post_attention_layernorm.weight", "ffn_norm.weight"},
        {"self_attn.q_proj.weight", "attn_q.weight"},
        {"self_attn.k_proj.weight", "attn_k.weight"},
        {"self_attn.v_proj.weight", "attn_v.weight"},
        {"self_attn.o_proj.weight", "attn_output.weight"},
        {"self_attn.q_norm.weight", "attn_q_norm.weight"},
        {"self_attn.k_norm.weight", "attn_k_norm.weight"},
        {"mlp.gate_proj.weight", "ffn_gate.weight"},
        {"mlp.up_proj.weight", "ffn_up.weight"},
        {"mlp.down_proj.weight", "ffn_down.weight"},
        {"attention_conv.base_kernel", "attn_conv_base"},
        {"attention_conv.kernel_projection.weight", "attn_conv_proj.weight"},
        {"mlp_conv.base_kernel", "ffn_conv_base"},
        {"mlp_conv.kernel_projection.weight", "ffn_conv_proj.weight"},
    };
    int layer = 0, n = 0;
    const bool block = sscanf(hf, "layers.%d.%n", &layer, &n) == 1 && n > 0;
    for (size_t i = 0; i < sizeof map / sizeof *map; i++)
        if (strcmp(map[i][0], hf + n) == 0) {
            if (block)
                snprintf(out, 96, "blk.%d.%s", layer, map[i][1]);
            else
                snprintf(out, 96, "%s", map[i][1]);
            return;
        }
    fail_msg("%s is no tensor of a drafter", hf);
}

static void write_file(const file *f)
{
    ts_gguf_out out = {0};
    ts_out to;
    ts_safetensors *s;
    assert_int_equal(ts_safetensors_open(DRAFTER, &s, NULL), TS_OK);
    put_keys(f, &out);
    for (size_t i = 0; i < ts_safetensors_count(s); i++) {
        char name[96];
        const ts_tensor *t = ts_safetensors_at(s, i);
        gguf_name(t->name, name);
        ts_gguf_put_tensor(&out, name, t->ndim, t->dim, ts_ggml_type_find(ts_dtype_table[t->dtype].name));
    }
    assert_int_equal(ts_out_open(&to, folder_file(&dir, "d.gguf", path), NULL), TS_OK);
    assert_int_equal(ts_gguf_out_begin(&out, &to, NULL), TS_OK);
    for (size_t i = 0; i < ts_safetensors_count(s); i++) {
        const ts_tensor *t = ts_safetensors_at(s, i);
        assert_int_equal(ts_out_write(&to, t->data, t->size, NULL), TS_OK);
        assert_int_equal(ts_gguf_out_pad(&to, t->size, NULL), TS_OK);
    }
    assert_int_equal(ts_out_close(&to, TS_OK, NULL), TS_OK);
    ts_gguf_out_free(&out);
    ts_safetensors_close(s);
}

static void same_matrix(const ts_matrix *a, const ts_matrix *b)
{
    assert_true(a->N == b->N && a->K == b->K && a->format == b->format);
    assert_memory_equal(a->data, b->data, (size_t)(a->N * ts_matrix_row_bytes(a)));
}

static void same_vector(const ts_vector *a, const ts_vector *b)
{
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->v, b->v, (size_t)a->n * sizeof *a->v);
}

static void same_layer(const ts_layer *a, const ts_layer *b)
{
    same_vector(&a->input_norm, &b->input_norm);
    same_vector(&a->post_norm, &b->post_norm);
    same_vector(&a->q_norm, &b->q_norm);
    same_vector(&a->k_norm, &b->k_norm);
    same_vector(&a->attn_conv, &b->attn_conv);
    same_vector(&a->mlp_conv, &b->mlp_conv);
    same_matrix(&a->q_proj, &b->q_proj);
    same_matrix(&a->k_proj, &b->k_proj);
    same_matrix(&a->v_proj, &b->v_proj);
    same_matrix(&a->o_proj, &b->o_proj);
    same_matrix(&a->gate_proj, &b->gate_proj);
    same_matrix(&a->up_proj, &b->up_proj);
    same_matrix(&a->down_proj, &b->down_proj);
    same_matrix(&a->attn_conv_proj, &b->attn_conv_proj);
    same_matrix(&a->mlp_conv_proj, &b->mlp_conv_proj);
}

static void same_drafter(const file *f, const ts_weights *target)
{
    ts_weights *a = NULL, *b = NULL;
    ts_error err = {0};
    write_file(f);
    if (ts_weights_load_dflash(target, path, &a, &err) != TS_OK)
        fail_msg("%s: %s", err.tensor, err.reason);
    assert_int_equal(ts_weights_load_dflash(target, DRAFTER, &b, &err), TS_OK);
    assert_memory_equal(&a->cfg, &b->cfg, sizeof a->cfg);
    assert_true(a->folded && !a->rate);
    same_matrix(&a->fc, &b->fc);
    same_vector(&a->hidden_norm, &b->hidden_norm);
    same_vector(&a->final_norm, &b->final_norm);
    same_matrix(&a->selector_hidden, &b->selector_hidden);
    same_matrix(&a->predecessor, &b->predecessor);
    same_matrix(&a->successor, &b->successor);
    for (int64_t i = 0; i < b->cfg.layers; i++)
        same_layer(&a->layer[i], &b->layer[i]);
    ts_weights_free(a);
    ts_weights_free(b);
}

/* The mask's id may stand under either name. */
static void loads(void **state)
{
    file f = good();
    same_drafter(&f, *state);
    f.without = "mask_token_id";
    f.plain_mask = true;
    f.value = 2045;
    same_drafter(&f, *state);
    f.without = "";
    same_drafter(&f, *state);
}

static void refused(const ts_weights *target, const file *f, const char *key, const char *reason)
{
    ts_weights *w = NULL;
    ts_error err = {0};
    write_file(f);
    assert_int_equal(ts_weights_load_dflash(target, path, &w, &err), TS_BAD);
    if (strcmp(err.tensor, key) != 0 || strstr(err.reason, reason) == NULL)
        fail_msg("got \"%s: %s\", want \"%s: %s\"", err.tensor, err.reason, key, reason);
}

static void missing_keys(void **state)
{
    /* Without selector_top_k it is version 1, which has no convolutions. */
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char key[64];
        file f = good();
        f.without = numbers[i].key;
        snprintf(key, sizeof key, "dflash.%s", numbers[i].key);
        if (strcmp(f.without, "selector_top_k") == 0)
            refused(*state, &f, "blk.0.attn_conv_base", "no such tensor");
        else if (strcmp(f.without, "attention.sliding_window") != 0)
            refused(*state, &f, key, "missing");
    }
    file f = good();
    f.without = "target_layers";
    refused(*state, &f, "dflash.target_layers", "missing");
    f = good();
    f.pattern = false;
    refused(*state, &f, "dflash.attention.sliding_window_pattern", "missing");
    f = good();
    f.without = "attention.causal";
    refused(*state, &f, "is_causal", "missing");
}

static void wrong_values(void **state)
{
    static const struct {
        const char *key;
        uint32_t value;
        const char *tensor, *reason;
    } wrong[] = {
        {"attention.value_length", 32, "attention.value_length", "differs"},
        {"embedding_length", 128, "hidden_size", "the target's is 256"},
        {"block_count", 5000, "block_count", "4096"},
        {"block_count", 2, "dflash.attention.sliding_window_pattern", "one for each layer"},
        {"+rope.dimension_count", 32, "rope.dimension_count", "differs"},
        {"+final_logit_softcapping", 30, "dflash.final_logit_softcapping", "is not supported"},
        {"+vocab_size", 2000, "vocab_size", "the target's is 2048"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        file f = good();
        f.key = wrong[i].key;
        f.value = wrong[i].value;
        refused(*state, &f, wrong[i].tensor, wrong[i].reason);
    }
    file f = good();
    f.plain_mask = true;
    f.value = 7;
    refused(*state, &f, "dflash.mask_token_id", "differs from tokenizer.ggml.mask_token_id");
    f = good();
    f.tap[1] = 0;
    refused(*state, &f, "dflash.target_layers", "no layer's output");
    f.tap[1] = 9;
    refused(*state, &f, "target_layer_ids", "layers 0..7");
    f = good();
    f.arch = "qwen35";
    refused(*state, &f, "general.architecture", "is no drafter");
}

static int make(void **state)
{
    ts_weights *w = NULL;
    scratch_make(state);
    const ts_status status = ts_weights_load(MODEL, &w, NULL);
    *state = w;
    return (int)status;
}

static int undo(void **state)
{
    ts_weights_free(*state);
    return scratch_remove(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(loads), cmocka_unit_test(missing_keys),
                                       cmocka_unit_test(wrong_values)};
    return cmocka_run_group_tests(tests, make, undo);
}
