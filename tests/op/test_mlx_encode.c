/* MLX affine weights: the encoder, the packing and what ref32 makes of them,
 * against goldens of other software, for every bit width and group size. */
#include "call.h"

enum { ROWS = 16, K = 256 };

/* Code k of a row: bits [k*bits, (k+1)*bits) of its little-endian stream. */
static void pack(const uint8_t *code, int bits, uint8_t *stream)
{
    memset(stream, 0, (size_t)(K * bits / 8));
    for (int64_t bit = 0; bit < (int64_t)K * bits; bit++)
        if (code[bit / bits] >> (bit % bits) & 1)
            stream[bit / 8] = (uint8_t)(stream[bit / 8] | 1u << (bit % 8));
}

static const void *tensor_data(const ts_safetensors *f, const char *prefix, const char *name, size_t size)
{
    const ts_tensor *t = golden_tensor(f, prefix, name);
    assert_non_null(t);
    assert_int_equal(t->size, size);
    return t->data;
}

/* Encodes row r; codes, words, unrounded and bf16 scales and biases must be the golden's bits. */
static void encode_row(const ts_safetensors *f, const char *prefix, const float *w, int bits, int group, int64_t r)
{
    const int64_t G = K / group;
    uint8_t code[K], stream[K];
    float s[K / 32], b[K / 32];
    ts_ref32.mlx_encode(w + r * K, K, bits, group, code, s, b);
    pack(code, bits, stream);
    size_t row = (size_t)(K * bits / 8), aux = (size_t)(ROWS * G);
    assert_memory_equal(code, (const uint8_t *)tensor_data(f, prefix, "codes", ROWS * K) + r * K, K);
    assert_memory_equal(stream, (const char *)tensor_data(f, prefix, "weight", ROWS * row) + (size_t)r * row, row);
    assert_memory_equal(s, (const float *)tensor_data(f, prefix, "scale_f32", aux * 4) + r * G, (size_t)G * 4);
    assert_memory_equal(b, (const float *)tensor_data(f, prefix, "bias_f32", aux * 4) + r * G, (size_t)G * 4);
    const uint16_t *scales = tensor_data(f, prefix, "scales", aux * 2);
    const uint16_t *biases = tensor_data(f, prefix, "biases", aux * 2);
    for (int64_t g = 0; g < G; g++) {
        assert_int_equal(ts_f32_to_bf16(s[g]), scales[r * G + g]);
        assert_int_equal(ts_f32_to_bf16(b[g]), biases[r * G + g]);
    }
}

/* embed reads whole rows, matmul_dot32 single weights (through one-hot rows of x). */
static void dequantise(const ts_matrix *m, const float *dequant)
{
    int32_t id[ROWS];
    float *y = floats(ROWS * K), *x = floats(K * K), *z = floats(K * ROWS);
    for (int i = 0; i < ROWS; i++)
        id[i] = i;
    for (int i = 0; i < K; i++)
        x[i * K + i] = 1;
    ts_embed_args e = {ROWS, ROWS, K, id, m, y};
    ts_ref32.op(TS_OP_EMBED, &e);
    ts_matmul_args a = {K, ROWS, K, x, m, z};
    ts_ref32.op(TS_OP_MATMUL_DOT32, &a);
    for (int i = 0; i < ROWS * K; i++) {
        assert_int_equal(ts_bits(y[i]), ts_bits(dequant[i]));
        assert_true(z[i % K * ROWS + i / K] == dequant[i]);
    }
    free(x);
    free(y);
    free(z);
}

static void outside_goldens(void **state)
{
    (void)state;
    static const int all_bits[] = {2, 3, 4, 5, 6, 8}, all_groups[] = {32, 64, 128};
    ts_safetensors *f = golden_open("golden/external/mlx-affine.safetensors");
    for (int i = 0; i < 18; i++) {
        int bits = all_bits[i / 3], group = all_groups[i % 3];
        char source[16], prefix[16];
        snprintf(source, sizeof source, "b%d", bits);
        snprintf(prefix, sizeof prefix, "b%d.g%d", bits, group);
        const float *w = tensor_data(f, source, "w", ROWS * K * sizeof *w);
        for (int64_t r = 0; r < ROWS; r++)
            encode_row(f, prefix, w, bits, group, r);
        ts_matrix m = {.format = TS_W_MLX, .N = ROWS, .K = K, .bits = bits, .group = group, .aux = TS_BF16};
        m.data = tensor_data(f, prefix, "weight", (size_t)(ROWS * K * bits / 8));
        m.scales = tensor_data(f, prefix, "scales", (size_t)(ROWS * K / group * 2));
        m.biases = tensor_data(f, prefix, "biases", (size_t)(ROWS * K / group * 2));
        dequantise(&m, tensor_data(f, prefix, "dequant", ROWS * K * sizeof(float)));
    }
    ts_safetensors_close(f);
}

/* Both tables hold the same f32 encoder. */
static void one_encoder(void **state)
{
    (void)state;
    float *w = generated("normal", 1, K), s[2][4], b[2][4];
    uint8_t code[2][K];
    ts_ref32.mlx_encode(w, K, 4, 64, code[0], s[0], b[0]);
    ts_ref64.mlx_encode(w, K, 4, 64, code[1], s[1], b[1]);
    assert_memory_equal(code[0], code[1], K);
    assert_memory_equal(s[0], s[1], sizeof s[0]);
    assert_memory_equal(b[0], b[1], sizeof b[0]);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outside_goldens),
        cmocka_unit_test(one_encoder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
