/* Packing a64-16r, element by element: where its header says that a code, a scale and a bias are. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include "cpu/portable/pack_a64.h"
#include "num/convert.h"
#include "num/generate.h"

enum { N = 37, K = 192, G = K / 64, PANELS = 3 };

typedef struct {
    int32_t code[N * K / 4];
    uint32_t scale[N * G], bias[N * G]; /* as many f32, or the halves that come first */
    ts_matrix m;
} fixture;

/* Any bits will do, but for 16-bit scales no NaN: packing may not keep its payload. */
static void make(fixture *f, int bits, ts_dtype aux)
{
    f->m = (ts_matrix){.format = TS_W_MLX, .N = N, .K = K, .bits = bits, .group = 64, .aux = aux};
    ts_generate_ints(1, 0, INT32_MIN, INT32_MAX, f->code, N * K / 4);
    ts_generate_ints(2, 0, 0, 0x3fff3fff, (int32_t *)f->scale, N * G);
    ts_generate_ints(3, 0, 0, 0x3fff3fff, (int32_t *)f->bias, N * G);
    f->m.data = f->code;
    f->m.scales = f->scale;
    f->m.biases = f->bias;
}

static uint32_t packed_code(const ts_matrix *m, const uint8_t *block, int64_t row, int64_t k)
{
    int64_t line = m->bits == 4 ? k % 32 / 4 : k / 4;
    uint8_t byte = block[line * 64 + row * 4 + k % 4];
    return m->bits == 8 ? byte : k < 32 ? byte & 15 : byte >> 4;
}

static uint32_t word(const uint8_t *p, int64_t i)
{
    uint32_t w;
    memcpy(&w, p + 4 * i, sizeof w);
    return w;
}

/* Bits of scale or bias i as f32. */
static uint32_t widened(ts_dtype aux, const uint32_t *data, int64_t i)
{
    const uint16_t *half = (const uint16_t *)(const void *)data;
    return aux == TS_F32 ? data[i] : aux == TS_BF16 ? (uint32_t)half[i] << 16 : ts_bits(ts_f16_to_f32(half[i]));
}

static void assert_row(const fixture *f, const uint8_t *block, int64_t n, int64_t g)
{
    const ts_matrix *m = &f->m;
    const uint8_t *aux = block + 16 * 64 * m->bits / 8;
    int64_t row = n % 16;
    uint32_t scale = n < N ? widened(m->aux, f->scale, n * G + g) : 0;
    uint32_t bias = n < N ? widened(m->aux, f->bias, n * G + g) : 0;
    for (int64_t k = 0; k < 64; k++)
        assert_int_equal(packed_code(m, block, row, k), n < N ? ts_mlx_code(m, n, g * 64 + k) : 0);
    if (m->aux == TS_BF16) {
        assert_int_equal(word(aux, row), scale | bias >> 16);
        return;
    }
    assert_int_equal(word(aux, row), scale);
    assert_int_equal(word(aux + 64, row), bias);
}

static void every_code_is_in_its_place(void **state)
{
    (void)state;
    static const ts_dtype aux[] = {TS_BF16, TS_F16, TS_F32};
    static fixture f;
    for (int i = 0; i < 6; i++) {
        ts_error err;
        make(&f, i < 3 ? 4 : 8, aux[i % 3]);
        assert_int_equal(ts_matrix_pack_as(&f.m, &ts_pack_a64, 2, &err), TS_OK);
        size_t block = (size_t)(16 * 64 * f.m.bits / 8 + (f.m.aux == TS_BF16 ? 64 : 128));
        assert_int_equal(ts_packing_bytes(&ts_pack_a64, &f.m), PANELS * G * block);
        for (int64_t n = 0; n < PANELS * 16; n++)
            for (int64_t g = 0; g < G; g++)
                assert_row(&f, (const uint8_t *)f.m.packed + (size_t)(n / 16 * G + g) * block, n, g);
        ts_matrix_unpack(&f.m);
    }
}

static void other_matrices_are_left_alone(void **state)
{
    (void)state;
    static const ts_matrix not [] = {
        {.format = TS_W_BF16, .N = 16, .K = 64},
        {.format = TS_W_MLX, .N = 16, .K = 64, .bits = 5, .group = 64},
        {.format = TS_W_MLX, .N = 16, .K = 64, .bits = 4, .group = 32},
    };
    for (size_t i = 0; i < sizeof not / sizeof *not ; i++)
        assert_int_equal(ts_packing_bytes(&ts_pack_a64, &not [i]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_is_in_its_place),
        cmocka_unit_test(other_matrices_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
