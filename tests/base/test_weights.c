/* config/weights: the goldens bind, every spelling of the names binds the same values, and each
 * defect of a checkpoint is one error that names it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "weights_set.h"

static void assert_vector(const ts_vector *v, ts_checkpoint *c, const char *name, int64_t n)
{
    const ts_tensor *t = ts_checkpoint_find(c, name, NULL);
    assert_non_null(t);
    assert_int_equal(v->n, n);
    for (int64_t i = 0; i < n; i++)
        assert_true((double)v->v[i] == ts_tensor_get(t, i));
}

static void tiny_model(void **state)
{
    (void)state;
    ts_weights *w;
    assert_int_equal(ts_weights_load("golden/models/tiny-qwen35", &w, NULL), TS_OK);
    assert_string_equal(w->path, "golden/models/tiny-qwen35");
    assert_false(w->folded);
    ts_checkpoint *c = w->ckpt;
    assert_matrix(&w->embed, c, "model.embed_tokens.weight", 2048, 256);
    assert_matrix(&w->head, c, "lm_head.weight", 2048, 256);
    assert_vector(&w->final_norm, c, "model.norm.weight", 256);
    const ts_layer *l = &w->layer[4];
    assert_matrix(&l->in_qkv, c, "model.layers.4.linear_attn.in_proj_qkv.weight", 1280, 256);
    assert_matrix(&l->in_z, c, "model.layers.4.linear_attn.in_proj_z.weight", 768, 256);
    assert_matrix(&l->in_b, c, "model.layers.4.linear_attn.in_proj_b.weight", 6, 256);
    assert_matrix(&l->in_a, c, "model.layers.4.linear_attn.in_proj_a.weight", 6, 256);
    assert_matrix(&l->out, c, "model.layers.4.linear_attn.out_proj.weight", 256, 768);
    assert_vector(&l->conv, c, "model.layers.4.linear_attn.conv1d.weight", 1280 * 4);
    assert_vector(&l->A_log, c, "model.layers.4.linear_attn.A_log", 6);
    assert_vector(&l->dt_bias, c, "model.layers.4.linear_attn.dt_bias", 6);
    assert_vector(&l->gdn_norm, c, "model.layers.4.linear_attn.norm.weight", 128);
    assert_vector(&l->input_norm, c, "model.layers.4.input_layernorm.weight", 256);
    assert_vector(&l->post_norm, c, "model.layers.4.post_attention_layernorm.weight", 256);
    assert_null(l->q_proj.data);
    l = &w->layer[7];
    assert_matrix(&l->q_proj, c, "model.layers.7.self_attn.q_proj.weight", 1536, 256);
    assert_matrix(&l->k_proj, c, "model.layers.7.self_attn.k_proj.weight", 128, 256);
    assert_matrix(&l->v_proj, c, "model.layers.7.self_attn.v_proj.weight", 128, 256);
    assert_matrix(&l->o_proj, c, "model.layers.7.self_attn.o_proj.weight", 256, 768);
    assert_vector(&l->q_norm, c, "model.layers.7.self_attn.q_norm.weight", 64);
    assert_vector(&l->k_norm, c, "model.layers.7.self_attn.k_norm.weight", 64);
    assert_matrix(&l->gate_proj, c, "model.layers.7.mlp.gate_proj.weight", 512, 256);
    assert_matrix(&l->up_proj, c, "model.layers.7.mlp.up_proj.weight", 512, 256);
    assert_matrix(&l->down_proj, c, "model.layers.7.mlp.down_proj.weight", 256, 512);
    assert_null(l->in_qkv.data);
    char want[65];
    assert_int_equal(w->sha256[0], 0);
    assert_int_equal(ts_weights_hash(w, NULL), TS_OK);
    assert_int_equal(ts_checkpoint_sha256(c, want, NULL), TS_OK);
    assert_string_equal(w->sha256, want);
    ts_weights_free(w);
    ts_weights_free(NULL);
}

static void random_models(void **state)
{
    (void)state;
    const char *const stem[] = {DENSE, ASYM, EDGE};
    for (size_t i = 0; i < 3; i++) {
        char c[128], f[128];
        ts_weights *w;
        snprintf(c, sizeof c, "%s-config.json", stem[i]);
        snprintf(f, sizeof f, "%s-weights.safetensors", stem[i]);
        assert_int_equal(ts_weights_load_files(c, f, &w, NULL), TS_OK);
        assert_int_equal(w->head.data == w->embed.data, i == 1); /* asym is tied */
        assert_int_equal(w->head.N, 97);
        assert_false(w->folded);
        ts_weights_free(w);
    }
}

static void wrong_config(void **state)
{
    (void)state;
    ts_weights *w = NULL;
    ts_error err = {0};
    assert_int_equal(ts_weights_load_files(DENSE "-config.json", ASYM "-weights.safetensors", &w, &err), TS_BAD);
    assert_string_equal(err.tensor, "model.embed_tokens.weight");
    assert_string_equal(err.reason, "has shape [97,48], wants [97,64]");
    assert_string_equal(err.file, ASYM "-weights.safetensors");
    assert_int_equal(ts_weights_load_files("golden/none.json", ASYM "-weights.safetensors", &w, &err), TS_BAD);
    assert_string_equal(err.file, "golden/none.json");
    assert_int_equal(ts_weights_load_files(DENSE "-config.json", "golden/none", &w, &err), TS_BAD);
    assert_string_equal(err.file, "golden/none");
    assert_int_equal(ts_weights_load(dir.path, &w, &err), TS_BAD);
    assert_non_null(strstr(err.file, "config.json"));
    assert_null(w);
}

/* conv1d as MLX has it: [CD,W,1]. */
static void turn_conv(set *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (strstr(s->t[i].name, "conv1d") != NULL) {
            s->t[i].dim[1] = s->t[i].dim[2];
            s->t[i].dim[2] = 1;
        }
}

static void three_namings(void **state)
{
    (void)state;
    set s;
    ts_weights *w;
    set_open(&s, DENSE);
    turn_conv(&s);
    assert_refused(&s, "model.layers.0.linear_attn.conv1d.weight", "has shape [160,4,1], wants [160,1,4]");
    ts_safetensors_close(s.source);

    set_open(&s, DENSE);
    set_rename(&s, "model.", "model.language_model.");
    assert_int_equal(set_load(&s, &w, NULL), TS_OK);
    assert_false(w->folded);
    assert_vector(&w->layer[0].conv, w->ckpt, "model.language_model.layers.0.linear_attn.conv1d.weight", 160 * 4);
    ts_weights_free(w);

    set_rename(&s, "model.language_model.", "language_model.model.");
    assert_refused(&s, "language_model.model.layers.0.linear_attn.conv1d.weight", "wants [160,4,1]");
    turn_conv(&s);
    set_rename(&s, "lm_head.", "language_model.lm_head.");
    assert_int_equal(set_load(&s, &w, NULL), TS_OK);
    assert_true(w->folded);
    assert_matrix(&w->head, w->ckpt, "language_model.lm_head.weight", 97, 64);
    assert_vector(&w->layer[0].conv, w->ckpt, "language_model.model.layers.0.linear_attn.conv1d.weight", 160 * 4);
    ts_weights_free(w);

    set_rename(&s, "language_model.model.", "transformer.");
    assert_refused(&s, "embed_tokens.weight", "missing under");
    ts_safetensors_close(s.source);
}

static void each_tensor_is_needed(void **state)
{
    (void)state;
    set s;
    set_open(&s, ASYM);
    for (size_t i = 0; i < s.n; i++) {
        const ts_tensor all = s.t[i], last = s.t[s.n - 1];
        const bool embed = strcmp(all.name, "model.embed_tokens.weight") == 0;
        s.t[i] = last;
        s.n--;
        assert_refused(&s, embed ? "embed_tokens.weight" : all.name, "missing");
        s.t[s.n++] = last;
        s.t[i] = all;
    }
    assert_loads(&s);
    ts_safetensors_close(s.source);
}

static void each_shape_is_checked(void **state)
{
    (void)state;
    set s;
    set_open(&s, ASYM);
    for (size_t i = 0; i < s.n; i++) {
        const ts_tensor good = s.t[i];
        s.t[i].dim[0]--;
        s.t[i].size = good.size / (size_t)good.dim[0] * (size_t)s.t[i].dim[0];
        assert_refused(&s, good.name, "has shape [");
        s.t[i] = good;
        s.t[i].dim[s.t[i].ndim++] = 1;
        assert_refused(&s, good.name, ",1], wants [");
        s.t[i] = good;
    }
    ts_safetensors_close(s.source);
}

static void each_float_is_finite(void **state)
{
    (void)state;
    set s;
    char reason[64];
    set_open(&s, ASYM);
    for (size_t i = 0; i < s.n; i++) {
        const ts_tensor good = s.t[i];
        const int64_t last = ts_tensor_count(&good) - 1, at = i % 2 == 0 ? last : last / 2;
        uint16_t *copy = malloc(good.size);
        assert_non_null(copy);
        memcpy(copy, good.data, good.size);
        s.t[i].data = copy;
        copy[at] = i % 3 == 0 ? 0x7F80 : i % 3 == 1 ? 0xFFC0 : 0x7F81;
        snprintf(reason, sizeof reason, "%s at element %lld", i % 3 == 0 ? "Inf" : "NaN", (long long)at);
        assert_refused(&s, good.name, reason);
        copy[at] = 0x7F7F; /* the largest finite */
        assert_loads(&s);
        s.t[i] = good;
        free(copy);
    }
    ts_safetensors_close(s.source);
}

static void other_float_types(void **state)
{
    (void)state;
    set s;
    ts_weights *w;
    float norm[48];
    uint16_t half[24];
    uint32_t wide[160 * 48] = {0};
    for (int i = 0; i < 48; i++)
        norm[i] = (float)i / 3;
    for (int i = 0; i < 24; i++)
        half[i] = (uint16_t)(0x3C00 + i); /* 1 + i/1024 */
    set_open(&s, ASYM);
    ts_tensor *t = set_find(&s, "model.norm.weight");
    *t = (ts_tensor){t->name, TS_F32, 1, {48}, norm, sizeof norm};
    ts_tensor *q = set_find(&s, "model.layers.3.self_attn.q_norm.weight");
    *q = (ts_tensor){q->name, TS_F16, 1, {24}, half, sizeof half};
    ts_tensor *m = set_find(&s, "model.layers.0.linear_attn.in_proj_qkv.weight");
    *m = (ts_tensor){m->name, TS_F32, 2, {160, 48}, wide, sizeof wide};
    ts_tensor *k = set_find(&s, "model.layers.0.linear_attn.in_proj_a.weight");
    k->dtype = TS_F16; /* its bf16 patterns below 1 are finite halves too */
    assert_int_equal(set_load(&s, &w, NULL), TS_OK);
    assert_memory_equal(w->final_norm.v, norm, sizeof norm);
    for (int i = 0; i < 24; i++)
        assert_true((double)w->layer[3].q_norm.v[i] == 1 + i / 1024.0);
    assert_int_equal(w->layer[0].in_qkv.format, TS_W_F32);
    assert_int_equal(w->layer[0].in_a.format, TS_W_F16);
    ts_weights_free(w);
    half[23] = 0x7C00;
    assert_refused(&s, q->name, "Inf at element 23");
    half[23] = 0xFC01;
    assert_refused(&s, q->name, "NaN at element 23");
    half[23] = 0x7BFF;
    wide[7000] = 0xFF800000u;
    assert_refused(&s, m->name, "Inf at element 7000");
    wide[7000] = 0x7F800001u;
    assert_refused(&s, m->name, "NaN at element 7000");
    wide[7000] = 0;
    m->dtype = TS_I32;
    assert_refused(&s, m->name, "dtype I32");
    m->dtype = TS_U32;
    assert_refused(&s, m->name, "MLX codes need");
    m->dtype = TS_F32;
    t->dtype = TS_I32;
    assert_refused(&s, t->name, "dtype I32");
    ts_safetensors_close(s.source);
}

static void extra_tensors(void **state)
{
    (void)state;
    set s;
    const float x = 1, nan[1] = {0};
    const char *const fine[] = {"mtp.fc.weight", "model.visual.patch_embed.weight", "vision_tower.blocks.0.weight"};
    const char *const bad[] = {"model.layers.0.mlp.gate.weight",
                               "model.layers.4.input_layernorm.weight",
                               "model.layers.0.self_attn.q_proj.weight",
                               "lm_head.bias",
                               "model.norm.bias",
                               "model.layers.00.input_layernorm.weight",
                               "model.embed_tokens.scales"};
    set_open(&s, ASYM);
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        set_add(&s, fine[i], TS_F32, 1, 1, nan, 4);
    assert_loads(&s);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        set_add(&s, bad[i], TS_F32, 1, 1, &x, 4);
        assert_refused(&s, bad[i], "has no such tensor");
        s.n--;
    }
    ts_safetensors_close(s.source);
}

static void tied_head(void **state)
{
    (void)state;
    set s;
    set_open(&s, ASYM);
    const ts_tensor *embed = set_find(&s, "model.embed_tokens.weight");
    set_add(&s, "lm_head.weight", TS_BF16, 97, 48, embed->data, embed->size);
    assert_loads(&s);
    uint16_t *copy = malloc(embed->size);
    assert_non_null(copy);
    memcpy(copy, embed->data, embed->size);
    copy[97 * 48 - 1] ^= 1;
    s.t[s.n - 1].data = copy;
    assert_refused(&s, "lm_head.weight", "differs from the embedding");
    config_set("tie_word_embeddings", "false");
    assert_loads(&s);
    s.n--;
    assert_refused(&s, "lm_head.weight", "missing");
    free(copy);
    ts_safetensors_close(s.source);
}

/* One byte in front leaves every bf16 of the file at an odd address. */
static void unaligned_file(void **state)
{
    (void)state;
    set s;
    ts_weights *w;
    const uint8_t byte = 0;
    set_open(&s, ASYM);
    s.t[s.n++] = s.t[0];
    s.t[0] = (ts_tensor){"mtp.pad", TS_U8, 1, {1}, &byte, 1};
    assert_int_equal(set_load(&s, &w, NULL), TS_OK);
    assert_int_equal((uintptr_t)w->embed.data % 2, 0);
    const ts_tensor *embed = ts_safetensors_find(s.source, "model.embed_tokens.weight");
    assert_memory_equal(w->embed.data, embed->data, embed->size);
    ts_weights_free(w);
    ts_safetensors_close(s.source);
}

/* Cut at many lengths and with header bytes replaced: TS_OK with weights or TS_BAD without. */
static void mangled_files(void **state)
{
    (void)state;
    const char poison[] = "\0\"9}{[]:,1";
    char *good;
    size_t size, header = 0;
    ts_weights *w;
    assert_int_equal(ts_read_file(ASYM "-weights.safetensors", &good, &size, NULL), TS_OK);
    for (int i = 7; i >= 0; i--)
        header = header << 8 | (unsigned char)good[i];
    for (size_t cut = 0; cut < size; cut += cut < 64 ? 1 : 1 + size / 150) {
        folder_write(&dir, "w.safetensors", good, cut);
        w = NULL;
        assert_int_equal(
            ts_weights_load_files(ASYM "-config.json", folder_file(&dir, "w.safetensors", path), &w, NULL), TS_BAD);
        assert_null(w);
    }
    for (size_t at = 0; at < 8 + header; at += 11) {
        const char was = good[at];
        good[at] = poison[at % (sizeof poison - 1)];
        folder_write(&dir, "w.safetensors", good, size);
        w = NULL;
        ts_status status = ts_weights_load_files(ASYM "-config.json", path, &w, NULL);
        assert_true(status == TS_OK || status == TS_BAD);
        assert_int_equal(status == TS_OK, w != NULL);
        ts_weights_free(w);
        good[at] = was;
    }
    free(good);
    folder_file(&dir, "model.safetensors", path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiny_model),
        cmocka_unit_test(random_models),
        cmocka_unit_test_teardown(wrong_config, empty_dir),
        cmocka_unit_test_teardown(three_namings, empty_dir),
        cmocka_unit_test_teardown(each_tensor_is_needed, empty_dir),
        cmocka_unit_test_teardown(each_shape_is_checked, empty_dir),
        cmocka_unit_test_teardown(each_float_is_finite, empty_dir),
        cmocka_unit_test_teardown(other_float_types, empty_dir),
        cmocka_unit_test_teardown(extra_tensors, empty_dir),
        cmocka_unit_test_teardown(tied_head, empty_dir),
        cmocka_unit_test_teardown(unaligned_file, empty_dir),
        cmocka_unit_test_teardown(mangled_files, empty_dir),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
