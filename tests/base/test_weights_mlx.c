/* config/weights: linears stored as MLX triples of codes, scales and biases. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "weights_set.h"

/* q_proj of dense as an MLX triple of `bits`: [256, 64] in one group per row. */
static void quantise(set *s, const char *module, int bits, const uint32_t *codes, const uint16_t *aux)
{
    static char name[3][128];
    snprintf(name[0], sizeof name[0], "%s.weight", module);
    snprintf(name[1], sizeof name[1], "%s.scales", module);
    snprintf(name[2], sizeof name[2], "%s.biases", module);
    set_remove(s, name[0]);
    set_add(s, name[0], TS_U32, 256, 2 * bits, codes, 256u * 8 * (size_t)bits);
    set_add(s, name[1], TS_BF16, 256, 1, aux, 512);
    set_add(s, name[2], TS_BF16, 256, 1, aux + 256, 512);
}

static void mlx_triples(void **state)
{
    (void)state;
    set s;
    ts_weights *w;
    uint32_t codes[256 * 16];
    uint16_t aux[512];
    for (uint32_t i = 0; i < 256 * 16; i++)
        codes[i] = i * 2654435761u;
    for (uint32_t i = 0; i < 512; i++)
        aux[i] = (uint16_t)(0x3F80 + i % 64);
    const int widths[] = {4, 8};
    for (size_t b = 0; b < 2; b++) {
        const int bits = widths[b];
        set_open(&s, DENSE);
        quantise(&s, "model.layers.3.self_attn.q_proj", bits, codes, aux);
        assert_refused(&s, "model.layers.3.self_attn.q_proj.weight", "MLX codes need");
        config_set("quantization", bits == 4 ? "{\"bits\":4,\"group_size\":64}" : "{\"bits\":8,\"group_size\":64}");
        assert_int_equal(set_load(&s, &w, NULL), TS_OK);
        const ts_matrix *m = &w->layer[3].q_proj;
        assert_int_equal(m->format, TS_W_MLX);
        assert_int_equal(m->N, 256);
        assert_int_equal(m->K, 64);
        assert_int_equal(m->bits, bits);
        assert_int_equal(m->group, 64);
        assert_int_equal(m->aux, TS_BF16);
        assert_memory_equal(m->scales, aux, 512);
        assert_memory_equal(m->biases, aux + 256, 512);
        const int per = 32 / bits;
        for (int64_t k = 0; k < 64; k++)
            assert_int_equal(ts_mlx_code(m, 255, k),
                             codes[255 * 2 * bits + k / per] >> (k % per * bits) & ((1u << bits) - 1));
        assert_int_equal(w->layer[3].k_proj.format, TS_W_BF16);
        ts_weights_free(w);
        ts_safetensors_close(s.source);
    }
}

static void bad_mlx_triples(void **state)
{
    (void)state;
    set s;
    static const uint32_t codes[256 * 16];
    uint16_t aux[512] = {0};
    const char *const weight = "model.layers.3.self_attn.q_proj.weight";
    const char *const scales = "model.layers.3.self_attn.q_proj.scales";
    const char *const biases = "model.layers.3.self_attn.q_proj.biases";
    set_open(&s, DENSE);
    config_set("quantization", "{\"bits\":4,\"group_size\":64}");
    quantise(&s, "model.layers.3.self_attn.q_proj", 4, codes, aux);
    assert_loads(&s);
    aux[5] = 0x7FC0;
    assert_refused(&s, scales, "NaN at element 5");
    aux[5] = 0;
    aux[256 + 255] = 0xFF80;
    assert_refused(&s, biases, "Inf at element 255");
    aux[256 + 255] = 0;
    set_find(&s, biases)->dtype = TS_F16;
    assert_refused(&s, biases, "dtype F16, the scales are BF16");
    set_find(&s, scales)->dtype = TS_F16;
    assert_loads(&s);
    set_find(&s, scales)->dtype = TS_U16;
    assert_refused(&s, scales, "dtype U16");
    set_find(&s, scales)->dtype = TS_BF16;
    set_find(&s, biases)->dtype = TS_BF16;
    set_find(&s, weight)->dtype = TS_I32;
    assert_refused(&s, weight, "dtype I32");
    set_find(&s, weight)->dtype = TS_U32;
    config_set("quantization", "{\"bits\":8,\"group_size\":64}");
    assert_refused(&s, weight, "has shape [256,8], wants [256,16]");
    config_set("quantization", "{\"bits\":4,\"group_size\":64}");
    ts_tensor *t = set_find(&s, scales);
    t->dim[0] = 128;
    t->dim[1] = 2;
    assert_refused(&s, scales, "has shape [128,2], wants [256,1]");
    set_remove(&s, scales);
    assert_refused(&s, weight, "dtype U32");
    set_add(&s, scales, TS_BF16, 256, 1, aux, 512);
    set_remove(&s, biases);
    assert_refused(&s, biases, "missing");
    set_add(&s, biases, TS_BF16, 256, 1, aux, 512);
    set_add(&s, "model.layers.0.mlp.down_proj.scales", TS_BF16, 1, 1, aux, 2); /* 96 columns */
    assert_refused(&s, "model.layers.0.mlp.down_proj.weight", "96 columns are not whole groups of 64");
    ts_safetensors_close(s.source);
}

/* k_proj of dense, [64,64], as `bits` in groups of `group`: codes, scales and biases to be filled by the caller. */
static void quantise_k(set *s, const char *name, int bits, int group, const void *codes, const void *aux)
{
    static char full[3][128];
    const char *const part[] = {"weight", "scales", "biases"};
    for (int i = 0; i < 3; i++)
        snprintf(full[i], sizeof full[i], "%.100s.%s", name, part[i]);
    set_remove(s, full[0]);
    set_add(s, full[0], TS_U32, 64, 2 * bits, codes, 64u * 8 * (size_t)bits);
    set_add(s, full[1], TS_BF16, 64, 64 / group, aux, 64u * 2 * (size_t)(64 / group));
    set_add(s, full[2], TS_BF16, 64, 64 / group, aux, 64u * 2 * (size_t)(64 / group));
}

#define K_PROJ "model.layers.3.self_attn.k_proj"

/* The code at a bit of a row's little-endian stream, one bit at a time. */
static uint32_t code_at(const uint8_t *row, int bits, int64_t k)
{
    uint32_t code = 0;
    for (int64_t i = 0; i < bits; i++)
        code |= (uint32_t)(row[(k * bits + i) / 8] >> ((k * bits + i) % 8) & 1) << i;
    return code;
}

static void all_widths_and_groups(void **state)
{
    (void)state;
    const int widths[] = {2, 3, 4, 5, 6, 8}, groups[] = {32, 64, 128};
    uint32_t codes[64 * 16];
    uint16_t aux[128];
    char text[64];
    for (uint32_t i = 0; i < 64 * 16; i++)
        codes[i] = i * 2654435761u + 12345;
    for (uint32_t i = 0; i < 128; i++)
        aux[i] = (uint16_t)(0x3F80 + i);
    for (size_t b = 0; b < 6; b++)
        for (size_t g = 0; g < 3; g++) {
            set s;
            ts_weights *w;
            set_open(&s, DENSE);
            snprintf(text, sizeof text, "{\"bits\":%d,\"group_size\":%d}", widths[b], groups[g]);
            config_set("quantization", text);
            quantise_k(&s, K_PROJ, widths[b], groups[g] == 128 ? 64 : groups[g], codes, aux);
            if (groups[g] == 128) {
                assert_refused(&s, K_PROJ ".weight", "64 columns are not whole groups of 128");
                ts_safetensors_close(s.source);
                continue;
            }
            assert_int_equal(set_load(&s, &w, NULL), TS_OK);
            const ts_matrix *m = &w->layer[3].k_proj;
            assert_int_equal(m->format, TS_W_MLX);
            assert_int_equal(m->bits, widths[b]);
            assert_int_equal(m->group, groups[g]);
            for (int64_t n = 0; n < 64; n += 63)
                for (int64_t k = 0; k < 64; k++)
                    assert_int_equal(ts_mlx_code(m, n, k),
                                     code_at((const uint8_t *)codes + n * 8 * widths[b], widths[b], k));
            ts_weights_free(w);
            ts_safetensors_close(s.source);
        }
}

/* Every module by its own line, under both spellings of its path; what the line says must fit the shapes. */
static void overrides(void **state)
{
    (void)state;
    static const uint32_t codes[64 * 16];
    static const uint16_t aux[128];
    set s;
    ts_weights *w;
    set_open(&s, DENSE);
    quantise_k(&s, K_PROJ, 6, 32, codes, aux);
    config_set("quantization", "{\"bits\":4,\"group_size\":64}");
    assert_refused(&s, K_PROJ ".weight", "has shape [64,12], wants [64,8]");
    config_set("quantization", "{\"bits\":4,\"group_size\":64,\"" K_PROJ "\":{\"bits\":6,\"group_size\":32}}");
    assert_int_equal(set_load(&s, &w, NULL), TS_OK);
    assert_int_equal(w->layer[3].k_proj.bits, 6);
    assert_int_equal(w->layer[3].k_proj.group, 32);
    assert_int_equal(w->cfg.quant_bits, 4);
    ts_weights_free(w);
    config_set("quantization", "{\"bits\":4,\"group_size\":64,\"language_model." K_PROJ
                               "\":{\"bits\":6,\"group_size\":32,\"mode\":\"affine\"}}");
    assert_loads(&s);
    config_set("quantization", "{\"bits\":4,\"group_size\":64,\"" K_PROJ "\":{\"bits\":6,\"group_size\":64}}");
    assert_refused(&s, K_PROJ ".scales", "has shape [64,2], wants [64,1]");
    config_set("quantization", "{\"bits\":6,\"group_size\":32,\"" K_PROJ "\":false}");
    assert_refused(&s, K_PROJ ".weight", "dtype U32");
    config_set("quantization", "{\"bits\":6,\"group_size\":32,\"" K_PROJ "\":true}");
    assert_loads(&s);
    const char *const v = "{\"bits\":6,\"group_size\":32,\"model.layers.3.self_attn.v_proj\":%s}";
    char text[160];
    snprintf(text, sizeof text, v, "false");
    config_set("quantization", text);
    assert_loads(&s);
    snprintf(text, sizeof text, v, "{\"bits\":8,\"group_size\":64}");
    config_set("quantization", text);
    assert_refused(&s, "model.layers.3.self_attn.v_proj.weight", "dtype BF16; MLX codes are U32");
    config_set("quantization",
               "{\"bits\":6,\"group_size\":32,\"model.layers.9.mlp.up_proj\":{\"bits\":6,\"group_size\":32}}");
    assert_refused(&s, "model.layers.9.mlp.up_proj", "the model has no such module");
    config_set("quantization", "{\"bits\":6,\"group_size\":32,\"model.layers.3.mlp.up_porj\":false}");
    assert_refused(&s, "model.layers.3.mlp.up_porj", "the model has no such module");
    config_set("quantization", "{\"bits\":6,\"group_size\":32,\"mtp.fc\":false}"); /* another part */
    assert_loads(&s);
    ts_safetensors_close(s.source);
}

/* Only what was asked for is read: NaN elsewhere is not found, a wrong shape is. */
static void parts(void **state)
{
    (void)state;
    set s;
    ts_weights *w = NULL;
    ts_error err = {0};
    set_open(&s, DENSE);
    ts_tensor *up = set_find(&s, "model.layers.0.mlp.up_proj.weight");
    uint16_t *bad = malloc(up->size);
    assert_non_null(bad);
    memcpy(bad, up->data, up->size);
    bad[7] = 0x7FC0;
    up->data = bad;
    assert_refused(&s, up->name, "NaN at element 7");
    assert_int_equal(ts_weights_load_part(dir.path, 0, NULL, &w, &err), TS_BAD);
    assert_string_equal(err.tensor, up->name);
    assert_int_equal(ts_weights_load_part(dir.path, 0, "gate_proj", &w, &err), TS_OK);
    assert_int_equal(w->layer[0].gate_proj.N, w->cfg.I);
    assert_ptr_equal(ts_weights_matrix(w, 0, "gate_proj"), &w->layer[0].gate_proj);
    assert_null(ts_weights_matrix(w, 0, "q_proj"));
    assert_null(ts_weights_matrix(w, 3, "in_qkv"));
    assert_null(ts_weights_matrix(w, -1, "gate_proj"));
    assert_ptr_equal(ts_weights_vector(w, 0, "A_log"), &w->layer[0].A_log);
    assert_ptr_equal(ts_weights_vector(w, -1, "final_norm"), &w->final_norm);
    assert_int_equal(w->layer[0].up_proj.N, 0);
    assert_int_equal(w->layer[0].A_log.n, w->cfg.Hv);
    assert_int_equal(w->layer[1].A_log.n, 0);
    assert_int_equal(w->embed.N, 0);
    ts_weights_free(w);
    assert_int_equal(ts_weights_load_part(dir.path, 3, NULL, &w, &err), TS_OK);
    assert_int_equal(w->layer[3].k_proj.N, 64);
    assert_int_equal(w->layer[0].down_proj.N, 0);
    ts_weights_free(w);
    assert_int_equal(ts_weights_load_part(dir.path, -1, "head", &w, &err), TS_OK);
    assert_int_equal(w->head.N, 97);
    assert_int_equal(w->embed.N, 0);
    ts_weights_free(w);
    w = NULL;
    assert_int_equal(ts_weights_load_part(dir.path, 4, NULL, &w, &err), TS_BAD);
    assert_non_null(strstr(err.reason, "no layer 4"));
    up->dim[1]--;
    up->size -= 2 * (size_t)up->dim[0];
    assert_refused(&s, up->name, "has shape");
    assert_int_equal(ts_weights_load_part(dir.path, 3, NULL, &w, &err), TS_BAD);
    assert_string_equal(err.tensor, up->name);
    assert_null(w);
    free(bad);
    ts_safetensors_close(s.source);
}

/* The head of a tied model is its embedding, also when nothing else is read. */
static void tied_part(void **state)
{
    (void)state;
    set s;
    ts_weights *w = NULL;
    set_open(&s, ASYM);
    assert_loads(&s);
    assert_int_equal(ts_weights_load_part(dir.path, -1, "head", &w, NULL), TS_OK);
    assert_int_equal(w->head.N, 97);
    assert_ptr_equal(w->head.data, w->embed.data);
    ts_weights_free(w);
    ts_safetensors_close(s.source);
}

/* A tied, quantised embedding whose copy has the same codes but other scales is no copy. */
static void tied_mlx_head(void **state)
{
    (void)state;
    set s;
    static const uint32_t codes[97 * 8];
    uint16_t aux[2 * 97] = {0};
    set_open(&s, DENSE);
    config_set("quantization", "{\"bits\":4,\"group_size\":64}");
    config_set("tie_word_embeddings", "true");
    set_remove(&s, "model.embed_tokens.weight");
    set_remove(&s, "lm_head.weight");
    set_add(&s, "model.embed_tokens.weight", TS_U32, 97, 8, codes, sizeof codes);
    set_add(&s, "model.embed_tokens.scales", TS_BF16, 97, 1, aux, 194);
    set_add(&s, "model.embed_tokens.biases", TS_BF16, 97, 1, aux, 194);
    assert_loads(&s);
    set_add(&s, "lm_head.weight", TS_U32, 97, 8, codes, sizeof codes);
    set_add(&s, "lm_head.scales", TS_BF16, 97, 1, aux + 97, 194);
    set_add(&s, "lm_head.biases", TS_BF16, 97, 1, aux, 194);
    assert_loads(&s);
    aux[97] = 0x3F80;
    assert_refused(&s, "lm_head.weight", "differs from the embedding");
    ts_safetensors_close(s.source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(mlx_triples, empty_dir),
        cmocka_unit_test_teardown(bad_mlx_triples, empty_dir),
        cmocka_unit_test_teardown(tied_mlx_head, empty_dir),
        cmocka_unit_test_teardown(all_widths_and_groups, empty_dir),
        cmocka_unit_test_teardown(overrides, empty_dir),
        cmocka_unit_test_teardown(parts, empty_dir),
        cmocka_unit_test_teardown(tied_part, empty_dir),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
