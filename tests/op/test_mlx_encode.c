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

/* To the nearest integer, ties away from zero, without round(). */
static double half_away(double x)
{
    double low = floor(fabs(x));
    double y = fabs(x) - low >= 0.5 ? low + 1 : low;
    return x < 0 ? -y : y;
}

typedef struct {
    bool zero_max;  /* the maximum is at least 0 */
    bool stored;    /* codes for the pair as stored in bf16 */
    bool clamp_low; /* codes are at least 0 */
} rules;

/* One group in double, rounded to f32 after every operation (53 bits are enough for that to be one rounding).
 * Written from the rules, not from the code under test. */
static void plain_group(const float *w, int group, int bits, rules how, uint8_t *code, float *scale, float *bias)
{
    double lo = HUGE_VAL, hi = how.zero_max ? 0 : -HUGE_VAL, most = pow(2, bits) - 1;
    for (int i = 0; i < group; i++) {
        lo = fmin(lo, (double)w[i]);
        hi = fmax(hi, (double)w[i]);
    }
    double step = (double)(float)((double)(float)(hi - lo) / most), edge = hi, b = 0;
    step = fmax(step, (double)1e-7f);
    if (fabs(lo) <= fabs(hi))
        step = -step;
    else
        edge = lo;
    double q0 = half_away((double)(float)(edge / step));
    if (q0 < 0 || q0 > 0) {
        step = (double)(float)(edge / q0);
        b = edge;
    }
    *scale = how.stored ? ts_bf16_to_f32(ts_f32_to_bf16((float)step)) : (float)step;
    *bias = how.stored ? ts_bf16_to_f32(ts_f32_to_bf16((float)b)) : (float)b;
    for (int i = 0; i < group; i++) {
        double q = half_away((double)(float)((double)(float)((double)w[i] - (double)*bias) / (double)*scale));
        assert_true(q >= 0 || how.clamp_low);
        code[i] = (uint8_t)fmin(fmax(q, 0), most);
    }
}

/* The rows of the golden, made to be nasty, and normal ones; how many codes differ from mlx-cpu's. */
static int against_plain(ts_mlx_encoder *encode, rules how)
{
    static const int all_bits[] = {2, 3, 4, 5, 6, 8}, all_groups[] = {32, 64, 128};
    ts_safetensors *f = golden_open("golden/external/mlx-affine.safetensors");
    float *normal = generated("normal", 3, 4 * K);
    int differ = 0;
    for (int i = 0; i < 18; i++) {
        int bits = all_bits[i / 3], group = all_groups[i % 3];
        char source[16];
        snprintf(source, sizeof source, "b%d", bits);
        const float *golden = tensor_data(f, source, "w", ROWS * K * sizeof *golden);
        for (int r = 0; r < ROWS + 4; r++) {
            const float *w = r < ROWS ? golden + r * K : normal + (r - ROWS) * K;
            uint8_t code[K], cpu[K], want[K];
            float s[K / 32], b[K / 32], want_s[K / 32], want_b[K / 32], no_s[K / 32], no_b[K / 32];
            encode(w, K, bits, group, code, s, b);
            for (int g = 0; g < K / group; g++)
                plain_group(w + g * group, group, bits, how, want + g * group, &want_s[g], &want_b[g]);
            assert_memory_equal(code, want, K);
            for (int g = 0; g < K / group; g++)
                assert_true(s[g] == want_s[g] && b[g] == want_b[g]);
            ts_ref32.mlx_encode(w, K, bits, group, cpu, no_s, no_b);
            for (int k = 0; k < K; k++)
                differ += code[k] != cpu[k];
        }
    }
    free(normal);
    ts_safetensors_close(f);
    return differ;
}

static void metal_from_its_rules(void **state)
{
    (void)state;
    int differ = against_plain(ts_ref32.mlx_encode_metal, (rules){.zero_max = true});
    print_message("mlx-metal: %d codes differ from mlx-cpu's\n", differ);
    assert_true(differ > 0);
}

static void lse_from_its_rules(void **state)
{
    (void)state;
    int differ = against_plain(ts_ref32.lse_encode, (rules){.stored = true, .clamp_low = true});
    print_message("lse: %d codes differ from mlx-cpu's\n", differ);
    assert_true(differ > 0);
}

/* By hand, 2 bits. Negative numbers only: the Metal grid is -3/2, -1, -1/2, 0, the CPU's -3/2 .. -1/2 in thirds. */
static void negative_group(void **state)
{
    (void)state;
    float w[32], s, b;
    uint8_t code[32];
    for (int i = 0; i < 32; i++)
        w[i] = i % 2 ? -1.5f : -0.5f;
    w[2] = -1.25f; /* half way to the next: away from zero */
    ts_ref32.mlx_encode_metal(w, 32, 2, 32, code, &s, &b);
    assert_true(s == 0.5f && b == -1.5f);
    assert_true(code[0] == 2 && code[1] == 0 && code[2] == 1);
    ts_ref32.mlx_encode(w, 32, 2, 32, code, &s, &b);
    assert_true(s == 0.375f && b == -1.5f && code[0] == 3 && code[1] == 0);
}

/* A code of lse is the best one for what the file holds: no neighbour is nearer. */
static void lse_codes_fit_the_stored_pair(void **state)
{
    (void)state;
    float *w = generated("normal", 9, 64 * K), s[K / 32], b[K / 32];
    uint8_t code[K];
    for (int r = 0; r < 64; r++) {
        ts_ref32.lse_encode(w + r * K, K, 4, 32, code, s, b);
        for (int k = 0; k < K; k++) {
            double scale = (double)s[k / 32], bias = (double)b[k / 32], x = (double)w[r * K + k];
            double far = fabs(x - (scale * code[k] + bias));
            assert_true(ts_bits(s[k / 32]) << 16 == 0 && ts_bits(b[k / 32]) << 16 == 0);
            assert_true(code[k] == 0 || far <= fabs(x - (scale * (code[k] - 1) + bias)) * (1 + 1e-6));
            assert_true(code[k] == 15 || far <= fabs(x - (scale * (code[k] + 1) + bias)) * (1 + 1e-6));
        }
    }
    free(w);
}

/* Both tables hold the same f32 encoders. */
static void one_encoder(void **state)
{
    (void)state;
    ts_mlx_encoder *const pair[][2] = {{ts_ref32.mlx_encode, ts_ref64.mlx_encode},
                                       {ts_ref32.mlx_encode_metal, ts_ref64.mlx_encode_metal},
                                       {ts_ref32.lse_encode, ts_ref64.lse_encode}};
    float *w = generated("normal", 1, K), s[2][4], b[2][4];
    uint8_t code[2][K];
    for (int i = 0; i < 3; i++) {
        pair[i][0](w, K, 4, 64, code[0], s[0], b[0]);
        pair[i][1](w, K, 4, 64, code[1], s[1], b[1]);
        assert_memory_equal(code[0], code[1], K);
        assert_memory_equal(s[0], s[1], sizeof s[0]);
        assert_memory_equal(b[0], b[1], sizeof b[0]);
    }
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outside_goldens),    cmocka_unit_test(metal_from_its_rules),
        cmocka_unit_test(lse_from_its_rules), cmocka_unit_test(negative_group),
        cmocka_unit_test(one_encoder),        cmocka_unit_test(lse_codes_fit_the_stored_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
