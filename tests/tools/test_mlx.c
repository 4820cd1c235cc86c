/* Packed matrices against a golden of other software. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "format/safetensors.h"
#include "mlx.h"

static const ts_tensor *golden(const ts_safetensors *f, int bits, const char *what)
{
    char name[64];
    snprintf(name, sizeof name, "b%d.%s", bits, what);
    const ts_tensor *t = ts_safetensors_find(f, name);
    assert_non_null(t);
    return t;
}

static void packing(void **state)
{
    static const int all[] = {2, 3, 4, 5, 6, 8};
    ts_safetensors *f = NULL;
    uint32_t word[16 * 64];
    (void)state;
    assert_int_equal(ts_safetensors_open("golden/external/mlx-affine.safetensors", &f, NULL), TS_OK);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const ts_tensor *code = golden(f, all[i], "g64.codes"), *want = golden(f, all[i], "g64.weight");
        int64_t words = 256 * all[i] / 32;
        for (int64_t n = 0; n < 16; n++)
            ts_mlx_pack((const uint8_t *)code->data + n * 256, 256, all[i], word + n * words);
        assert_int_equal(want->size, (size_t)(16 * words) * sizeof *word);
        assert_memory_equal(word, want->data, want->size);
    }
    ts_safetensors_close(f);
}

static void matrices(void **state)
{
    static const struct {
        int bits, group;
    } row[] = {{2, 32}, {3, 32}, {3, 128}, {4, 32}, {4, 64}, {4, 128}, {5, 32},
               {5, 64}, {6, 64}, {6, 128}, {8, 32}, {8, 64}, {8, 128}};
    ts_safetensors *f = NULL;
    static uint32_t words[16 * 64];
    static uint16_t scales[16 * 8], biases[16 * 8];
    static float w[16 * 256];
    (void)state;
    assert_int_equal(ts_safetensors_open("golden/external/mlx-affine.safetensors", &f, NULL), TS_OK);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char name[3][32];
        snprintf(name[0], sizeof name[0], "g%d.weight", row[i].group);
        snprintf(name[1], sizeof name[1], "g%d.scales", row[i].group);
        snprintf(name[2], sizeof name[2], "g%d.biases", row[i].group);
        memcpy(w, golden(f, row[i].bits, "w")->data, sizeof w);
        ts_matrix m = {.format = TS_W_F32, .N = 16, .K = 256, .data = w};
        assert_int_equal(ts_mlx_quantize(ts_ref32.mlx_encode, &m, row[i].bits, row[i].group, words, scales, biases),
                         -1);
        const ts_tensor *want = golden(f, row[i].bits, name[0]);
        assert_memory_equal(words, want->data, want->size);
        want = golden(f, row[i].bits, name[1]);
        assert_memory_equal(scales, want->data, want->size);
        want = golden(f, row[i].bits, name[2]);
        assert_memory_equal(biases, want->data, want->size);
    }
    ts_safetensors_close(f);
}

static void overflow_is_found(void **state)
{
    float w[2 * 32] = {0};
    uint32_t words[2 * 4];
    uint16_t scales[2], biases[2];
    (void)state;
    w[32] = 3.4e38f;
    w[33] = -3.4e38f;
    ts_matrix m = {.format = TS_W_F32, .N = 2, .K = 32, .data = w};
    assert_int_equal(ts_mlx_quantize(ts_ref32.mlx_encode, &m, 4, 32, words, scales, biases), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packing),
        cmocka_unit_test(matrices),
        cmocka_unit_test(overflow_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
