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
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
