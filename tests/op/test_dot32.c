/* Order dot32, and the operations built on it: matmul, embed and the three norms. */
#include "call.h"

/* dot32 as the contract words it: 32 chains, then every lane of the butterfly at once. */
static float plain(const float *a, const float *b, int64_t n)
{
    float lane[32], next[16];
    for (int l = 0; l < 32; l++) {
        lane[l] = 0;
        for (int64_t k = l; k < n; k += 32)
            lane[l] = fmaf(a[k], b[k], lane[l]);
    }
    for (int l = 0; l < 16; l++)
        lane[l] = lane[l] + lane[l + 16];
    for (int mask = 1; mask <= 8; mask *= 2) {
        for (int l = 0; l < 16; l++)
            next[l] = lane[l] + lane[l ^ mask];
        memcpy(lane, next, sizeof next);
    }
    for (int l = 1; l < 16; l++)
        assert_int_equal(ts_bits(lane[l]), ts_bits(lane[0]));
    return lane[0];
}

static float map32(ts_op_id id, float x)
{
    float y;
    ts_map_args a = {1, &x, &y};
    ts_ref32.op(id, &a);
    return y;
}

/* Every length around the lane count, every dense format (the weights are exact in all three), rows in
 * blocks and alone. */
static void matmul(void **state)
{
    (void)state;
    enum { T = 19, N = 3, MOST = 300 };
    float *x = generated("normal", 1, T * MOST), *w = generated("ints:-120:120", 2, N * MOST), y[T * N], one[N];
    static uint16_t bf16[N * MOST], f16[N * MOST];
    const int64_t length[] = {1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 300};
    for (int64_t i = 0; i < N * MOST; i++) {
        x[i] /= 3;
        bf16[i] = ts_f32_to_bf16(w[i]);
        f16[i] = ts_f32_to_f16(w[i]);
    }
    for (size_t i = 0; i < 3 * sizeof length / sizeof *length; i++) {
        const int64_t K = length[i / 3];
        const void *data[] = {bf16, f16, w}; /* in the order of ts_weight_format */
        ts_matrix m = {.format = (ts_weight_format)(i % 3), .N = N, .K = K, .data = data[i % 3]};
        ts_matmul_args a = {T, N, K, x, &m, y}, last = {1, N, K, x + (T - 1) * K, &m, one};
        ts_ref32.op(TS_OP_MATMUL_DOT32, &a);
        for (int64_t tn = 0; tn < T * N; tn++) {
            float p = plain(x + tn / N * K, w + tn % N * K, K);
            same_bits(&y[tn], &p, 1);
        }
        ts_ref32.op(TS_OP_MATMUL_DOT32, &last);
        same_bits(one, y + (T - 1) * N, N);
    }
    free(x);
    free(w);
}

/* ref64 against a sum in long double. */
static void matmul64(void **state)
{
    (void)state;
    enum { K = 1000 };
    float *x = generated("normal", 1, K), *w = generated("normal", 2, K);
    double *x64 = widened(x, K), y = 0;
    long double exact = 0, size = 0;
    for (int k = 0; k < K; k++) {
        exact += (long double)x[k] * (long double)w[k];
        size += fabsl((long double)x[k] * (long double)w[k]);
    }
    ts_matrix m = {.format = TS_W_F32, .N = 1, .K = K, .data = w};
    ts_matmul_args a = {1, 1, K, ts_f64(x64), &m, ts_f64(&y)};
    ts_ref64.op(TS_OP_MATMUL_DOT32, &a);
    assert_true(fabsl((long double)y - exact) <= 40 * 0x1p-53L * size);
    free(x);
    free(w);
    free(x64);
}

/* Absent columns are skipped: a padded zero times infinity would be NaN; an empty dot is +0. */
static void absent_columns(void **state)
{
    (void)state;
    float x[33], w[33], y;
    for (int k = 0; k < 33; k++) {
        x[k] = -0.0f;
        w[k] = 1;
    }
    ts_matrix m = {.format = TS_W_F32, .N = 1, .K = 33, .data = w};
    ts_matmul_args a = {1, 1, 33, x, &m, &y};
    ts_ref32.op(TS_OP_MATMUL_DOT32, &a);
    assert_int_equal(ts_bits(y), 0); /* chains start at +0 */
    m.K = a.K = 0;
    y = 7;
    ts_ref32.op(TS_OP_MATMUL_DOT32, &a);
    assert_int_equal(ts_bits(y), 0);
    w[32] = INFINITY;
    m.K = a.K = 32;
    ts_ref32.op(TS_OP_MATMUL_DOT32, &a);
    assert_int_equal(ts_bits(y), 0);
}

enum { ROWS = 3, D = 77 };

static void rmsnorm(void **state)
{
    (void)state;
    float *x = generated("normal", 1, ROWS * D), *w = generated("normal:0.25", 2, D), y[ROWS * D];
    for (int64_t centred = 0; centred < 2; centred++) {
        ts_rmsnorm_args a = {ROWS, D, centred, 1e-6, x, w, y};
        ts_ref32.op(TS_OP_RMSNORM, &a);
        for (int64_t t = 0; t < ROWS; t++) {
            float mean = plain(x + t * D, x + t * D, D) / (float)D;
            float r = 1 / sqrtf(mean + 1e-6f);
            for (int64_t i = 0; i < D; i++) {
                float g = centred ? 1 + w[i] : w[i], n = x[t * D + i] * r, p = n * g;
                same_bits(&y[t * D + i], &p, 1);
            }
        }
    }
    free(x);
    free(w);
}

static void l2norm(void **state)
{
    (void)state;
    float *x = generated("normal", 1, ROWS * D), y[ROWS * D];
    const double scale = 1 / sqrt((double)D);
    memset(x, 0, D * sizeof *x); /* a zero head stays zero */
    ts_l2norm_args a = {1, ROWS, D, 1e-6, scale, x, y};
    ts_ref32.op(TS_OP_L2NORM, &a);
    for (int64_t t = 0; t < ROWS; t++) {
        float r = 1 / sqrtf(plain(x + t * D, x + t * D, D) + 1e-6f);
        for (int64_t i = 0; i < D; i++) {
            float n = x[t * D + i] * r, p = n * (float)scale;
            same_bits(&y[t * D + i], &p, 1);
        }
    }
    assert_true(y[0] == 0 && y[D] != 0);
    free(x);
}

static void gated_norm(void **state)
{
    (void)state;
    float *x = generated("normal", 1, ROWS * D), *z = generated("normal", 2, ROWS * D);
    float *w = generated("normal", 3, D), y[ROWS * D];
    ts_gated_norm_args a = {1, ROWS, D, 1e-6, x, w, z, y};
    ts_ref32.op(TS_OP_GATED_NORM, &a);
    for (int64_t t = 0; t < ROWS; t++) {
        float mean = plain(x + t * D, x + t * D, D) / (float)D;
        float r = 1 / sqrtf(mean + 1e-6f);
        for (int64_t i = 0; i < D; i++) {
            float n = x[t * D + i] * r, g = n * w[i], p = g * map32(TS_OP_SILU, z[t * D + i]);
            same_bits(&y[t * D + i], &p, 1);
        }
    }
    free(x);
    free(z);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul),  cmocka_unit_test(matmul64), cmocka_unit_test(absent_columns),
        cmocka_unit_test(rmsnorm), cmocka_unit_test(l2norm),   cmocka_unit_test(gated_norm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
