/* The forms of operations that other engines compute: what each rounds, and where, on inputs chosen so that it
 * shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "case/op.h"
#include "num/convert.h"
#include "num/rope_table.h"
#include "ref.h"

static float bf16(float x)
{
    return ts_bf16_to_f32(ts_f32_to_bf16(x));
}

static float map(ts_op_id id, float x)
{
    float y;
    ts_ref32.op(id, &(ts_map_args){.n = 1, .x = &x, .y = &y});
    return y;
}

static float zip(ts_op_id id, float a, float b)
{
    float y;
    ts_ref32.op(id, &(ts_zip_args){.n = 1, .a = &a, .b = &b, .y = &y});
    return y;
}

static void same(float x, float want)
{
    if (ts_bits(x) != ts_bits(want))
        fail_msg("%.9g is not %.9g", (double)x, (double)want);
}

static const float tie = 1 + 0x1p-8f; /* between two bf16: 1 is the even one */

static void rounding(void **state)
{
    (void)state;
    same(map(TS_OP_ROUND_BF16, tie), 1);
    same(map(TS_OP_ROUND_BF16, 1 + 3 * 0x1p-8f), 1 + 0x1p-6f);
    same(map(TS_OP_ROUND_BF16, 3.4e38f), INFINITY);
    same(map(TS_OP_ROUND_F16, 1 + 0x1p-11f), 1);
    same(map(TS_OP_ROUND_F16, 0x1.8p-25f), 0x1p-24f);
    same(map(TS_OP_ROUND_F16, 65520), INFINITY);
    float x = 3, y;
    ts_ref32.op(TS_OP_SCALE, &(ts_scale_args){.n = 1, .scale = 0.1, .x = &x, .y = &y});
    same(y, 3 * 0.1f);
}

static void activations(void **state)
{
    (void)state;
    same(zip(TS_OP_SWIGLU_BF16, 1, 3), bf16(map(TS_OP_SILU, 1)) * 3);
    same(zip(TS_OP_SIGMOID_GATE_BF16, 3, 1), 3 * bf16(map(TS_OP_SIGMOID, 1)));
}

static float conv(ts_op_id id, float x)
{
    float w = 1, old = 0, y;
    ts_ref32.op(id, &(ts_conv1d_args){.T = 1, .C = 1, .W = 1, .x = &x, .w = &w, .state = &old, .y = &y});
    return y;
}

static void convolution(void **state)
{
    (void)state;
    same(conv(TS_OP_CONV1D_BF16, tie), map(TS_OP_SILU, 1));
    same(conv(TS_OP_CONV1D, tie), map(TS_OP_SILU, tie));
}

static void rotation(void **state)
{
    (void)state;
    const float x[3] = {tie, 1 + 3 * 0x1p-8f, tie}, one = 1;
    float y[3];
    ts_ref32.op(TS_OP_ROPE_BF16,
                &(ts_rope_args){.T = 1, .H = 1, .D = 3, .R = 2, .x = x, .cos = &one, .sin = &one, .y = y});
    same(y[0], 1 - (1 + 0x1p-6f));
    same(y[1], 1 + (1 + 0x1p-6f));
    same(y[2], tie); /* beyond R nothing is rounded */
}

enum { N = 257, D = 128 };

/* 4096^2 and 256 ones: a sum in f32 stays at 2^24. */
static void sum_of_squares(void **state)
{
    (void)state;
    float x[N], w[N], y[N];
    for (int i = 0; i < N; i++) {
        x[i] = i ? 1 : 4096;
        w[i] = 1;
    }
    const double want = 1 / sqrt((0x1p24 + 256) / N + 1e-6);
    ts_ref32.op(TS_OP_RMSNORM_GGML, &(ts_rmsnorm_args){.T = 1, .n = N, .eps = 1e-6, .x = x, .w = w, .y = y});
    assert_true(fabs((double)y[1] - want) < 3e-7 * want);
    for (int i = 0; i < N; i++)
        w[i] = 2;
    ts_ref32.op(TS_OP_GATED_NORM_GGML,
                &(ts_gated_norm_args){.T = 1, .H = 1, .D = N, .eps = 1e-6, .x = x, .w = w, .z = x, .y = y});
    assert_true(fabs((double)y[1] - want * 2 * (double)map(TS_OP_SILU, 1)) < 1e-6 * want);
}

/* Short vectors tell the three norms of q and k apart: sqrt(sum + eps), sqrt(mean + eps), max(norm, eps). */
static void norms_of_short_vectors(void **state)
{
    (void)state;
    float x[D], y[D];
    for (int i = 0; i < D; i++)
        x[i] = 1e-5f;
    const double square = (double)x[0] * (double)x[0], root = 1 / sqrt(D);
    ts_l2norm_args a = {.T = 1, .H = 1, .D = D, .eps = 1e-6 / D, .scale = root, .x = x, .y = y};
    ts_ref32.op(TS_OP_L2NORM_GGML, &a);
    assert_true(fabs((double)y[7] - 1e-5 / sqrt(D * square + 1e-6)) < 1e-8);
    a.eps = 1e-6;
    ts_ref32.op(TS_OP_L2NORM_MEAN, &a);
    assert_true(fabs((double)y[7] - 1e-5 * root / sqrt(square + 1e-6)) < 1e-9);
}

static void gated_norm(void **state)
{
    (void)state;
    const float w[2] = {1.1f, 0.7f}, z[2] = {1, -2};
    for (int n = 0; n < 40; n++) {
        const float x[2] = {sinf((float)n), cosf((float)(3 * n))};
        float y[2], r = 1 / sqrtf((x[0] * x[0] + x[1] * x[1]) / 2);
        ts_ref32.op(TS_OP_GATED_NORM_BF16,
                    &(ts_gated_norm_args){.T = 1, .H = 1, .D = 2, .eps = 0, .x = x, .w = w, .z = z, .y = y});
        for (int i = 0; i < 2; i++)
            same(y[i], bf16(w[i] * bf16(x[i] * r)) * map(TS_OP_SILU, z[i]));
    }
}

static void gates(ts_op_id id, float a, float b, float *g, float *beta)
{
    const float zero = 0;
    ts_ref32.op(id, &(ts_gdn_gates_args){
                        .T = 1, .H = 1, .a = &a, .b = &b, .A_log = &zero, .dt_bias = &zero, .g = g, .beta = beta});
}

static void decay_and_strength(void **state)
{
    (void)state;
    float g, beta, house, strength;
    gates(TS_OP_GDN_GATES, 1.3f, 0.7f, &house, &strength);
    gates(TS_OP_GDN_GATES_BF16, 1.3f, 0.7f, &g, &beta);
    same(g, house);
    same(beta, bf16(strength));
    assert_true(beta != strength && g != bf16(g));
    gates(TS_OP_GDN_GATES_GGML, -20, 0.7f, &g, &beta); /* exp(-20) is lost in 1 + exp(-20) */
    assert_true(g == 0);
    same(beta, strength);
    for (float a = -15; a < 20; a += 0.37f) {
        gates(TS_OP_GDN_GATES_GGML, a, 0, &g, &beta);
        float sum = 1 + map(TS_OP_EXP, a);
        same(g, -(float)log((double)sum));
    }
    gates(TS_OP_GDN_GATES_GGML, 20.5f, 0, &g, &beta);
    same(g, -20.5f);
}

/* Without a write, o is the state's columns times q: in order dot32. */
static void state_dots(void **state)
{
    (void)state;
    enum { K = 48, V = 5 };
    float q[K], k[K] = {0}, v[V] = {0}, g = 0, beta = 1, S[K * V], columns[V * K], o[V], want[V];
    for (int i = 0; i < K; i++) {
        q[i] = sinf((float)i);
        for (int j = 0; j < V; j++)
            S[i * V + j] = columns[j * K + i] = cosf((float)(3 * i + 7 * j));
    }
    const ts_matrix m = {.format = TS_W_F32, .N = V, .K = K, .data = columns};
    ts_ref32.op(TS_OP_MATMUL_DOT32, &(ts_matmul_args){.T = 1, .N = V, .K = K, .x = q, .w = &m, .y = want});
    ts_gdn_args a = {1, 1, 1, K, V, 0, 0, q, k, v, &g, &beta, S, o};
    ts_ref32.op(TS_OP_GDN_STEP_GGML, &a);
    for (int j = 0; j < V; j++)
        same(o[j], want[j]);
}

enum { KEYS = 3 };

/* One query and three keys along the first channel: scores q k_j scale; values v_j. */
static float attend(ts_op_id id, ts_kv_dtype dtype, float q0, const float k0[KEYS], const float v0[KEYS],
                    double scale)
{
    float q[2] = {q0, 0}, k[2 * KEYS] = {0}, v[2 * KEYS] = {0}, o[2];
    uint16_t ks[2 * KEYS], vs[2 * KEYS];
    const int32_t table = 0, pos = KEYS - 1, len = KEYS;
    for (int j = 0; j < KEYS; j++) {
        k[2 * j] = k0[j];
        v[2 * j] = v0[j];
    }
    ts_kv kv = {.dtype = dtype, .page = KEYS, .pages = 1, .table = &table, .k = ks, .v = vs};
    ts_ref32.op(TS_OP_KV_STORE, &(ts_kv_store_args){.T = KEYS, .Hkv = 1, .D = 2, .k = k, .v = v, .kv = kv});
    ts_ref32.op(id, &(ts_attention_args){.T = 1,
                                         .Hq = 1,
                                         .Hkv = 1,
                                         .D = 2,
                                         .parts = 1,
                                         .scale = scale,
                                         .q = q,
                                         .pos = &pos,
                                         .len = &len,
                                         .kv = kv,
                                         .o = o});
    return o[0];
}

static const float equal[KEYS] = {1, 1, 1}, ones[KEYS] = {1, 1, 1};

static void weights_of_a_third(void **state)
{
    (void)state;
    same(attend(TS_OP_ATTENTION_BF16, TS_KV_BF16, 1, equal, ones, 1), 3 * 0.333984375f);
    same(attend(TS_OP_ATTENTION_SOFTMAX_GGML, TS_KV_F16, 1, equal, ones, 1), 3 * 0.333251953125f);
    same(attend(TS_OP_ATTENTION_FLASH_GGML, TS_KV_F16, 1, equal, ones, 1), 3 * (1 / 3.0f));
    same(attend(TS_OP_ATTENTION_TILED_GGML, TS_KV_F16, 1, equal, ones, 1), 3 * (1 / 3.0f));
}

/* 1 + 2^-12 + 2^-12 in f16 is 1, twice rounded to it. */
static void running_output_is_f16(void **state)
{
    (void)state;
    const float v[KEYS] = {1, 0x1p-12f, 0x1p-12f}, third = 1 / 3.0f;
    same(attend(TS_OP_ATTENTION_FLASH_GGML, TS_KV_F16, 1, equal, v, 1), third);
    same(attend(TS_OP_ATTENTION_TILED_GGML, TS_KV_F16, 1, equal, v, 1), (1 + 0x1p-11f) * third);
}

/* q = 1 + 2^-11 + 2^-12 is 1 + 2^-10 in f16. */
static void queries_meet_an_f16_cache_in_f16(void **state)
{
    (void)state;
    const float k[KEYS] = {1, 2, 3}, v[KEYS] = {1, 0, 0}, q = 1 + 0x1.8p-11f, narrow = 1 + 0x1p-10f;
    static const ts_op_id narrows[] = {TS_OP_ATTENTION_FLASH_GGML, TS_OP_ATTENTION_SOFTMAX_GGML};
    for (int i = 0; i < 2; i++)
        same(attend(narrows[i], TS_KV_F16, q, k, v, 8), attend(narrows[i], TS_KV_F16, narrow, k, v, 8));
    assert_true(attend(TS_OP_ATTENTION_TILED_GGML, TS_KV_F16, q, k, v, 8) !=
                attend(TS_OP_ATTENTION_TILED_GGML, TS_KV_F16, narrow, k, v, 8));
}

/* Weights exp(-1) and exp(-2) against 1: in f32. */
static void tiles_keep_their_weights(void **state)
{
    (void)state;
    const float k[KEYS] = {3, 2, 1}, v[KEYS] = {0, 1, 0};
    const double sum = 1 + (double)map(TS_OP_EXP, -1) + (double)map(TS_OP_EXP, -2);
    same(attend(TS_OP_ATTENTION_TILED_GGML, TS_KV_F16, 1, k, v, 1), map(TS_OP_EXP, -1) * (1 / (float)sum));
}

/* Dots 1 + 2^-8 and 1 (the second key is 1 in the first channel and -2^-8 in the second): equal once rounded, and
 * so they stay when multiplied with 3. The product rounded alone would tell them apart: 3 (1 + 2^-8) is nearer to 3
 * + 2^-6. */
static void scores_are_rounded_before_the_scale(void **state)
{
    (void)state;
    const float q[2] = {tie, 1}, k[4] = {1, 0, 1, -0x1p-8f}, v[4] = {1, 0, 0, 0};
    float o[2], stored_k[4], stored_v[4];
    const int32_t table = 0, pos = 1, len = 2;
    ts_kv kv = {.dtype = TS_KV_REAL, .page = 2, .pages = 1, .table = &table, .k = stored_k, .v = stored_v};
    ts_ref32.op(TS_OP_KV_STORE, &(ts_kv_store_args){.T = 2, .Hkv = 1, .D = 2, .k = k, .v = v, .kv = kv});
    ts_ref32.op(TS_OP_ATTENTION_BF16, &(ts_attention_args){.T = 1,
                                                           .Hq = 1,
                                                           .Hkv = 1,
                                                           .D = 2,
                                                           .parts = 1,
                                                           .scale = 3,
                                                           .q = q,
                                                           .pos = &pos,
                                                           .len = &len,
                                                           .kv = kv,
                                                           .o = o});
    same(o[0], 0.5f);
}

/* One row of 64 activations that starts at sin(first), two groups of 32 codes. */
static void mlx_row(int first)
{
    enum { K = 64 };
    uint32_t words[K / 8];
    uint16_t scale[2] = {ts_f32_to_bf16(0.011f), ts_f32_to_bf16(-0.02f)},
             bias[2] = {ts_f32_to_bf16(-0.07f), ts_f32_to_bf16(0.13f)};
    float x[K], y, want = 0, rounded = 0;
    for (int i = 0; i < K / 8; i++)
        words[i] = 0x9e3779b9u * (uint32_t)(i + 1);
    const ts_matrix m = {TS_W_MLX, 1, K, words, 4, 32, TS_BF16, scale, bias, NULL, NULL};
    for (int k = 0; k < K; k++)
        x[k] = sinf((float)(first + k));
    for (int g = 0; g < 2; g++) {
        float s = ts_bf16_to_f32(scale[g]), b = ts_bf16_to_f32(bias[g]), codes = 0, sum = 0;
        for (int k = 32 * g; k < 32 * g + 32; k++) {
            float code = (float)(words[k / 8] >> 4 * (k % 8) & 15);
            codes = fmaf(x[k], code, codes);
            sum += x[k];
            rounded = bf16(rounded + bf16(x[k] * bf16(bf16(s * code) + b)));
        }
        want += s * codes + b * sum;
    }
    ts_matmul_args a = {.T = 1, .N = 1, .K = K, .x = x, .w = &m, .y = &y};
    ts_ref32.op(TS_OP_MATMUL_MLX, &a);
    same(y, want);
    ts_ref32.op(TS_OP_MATMUL_MLX_BF16, &a);
    same(y, rounded);
}

static void mlx_products(void **state)
{
    (void)state;
    for (int first = 0; first < 40; first++)
        mlx_row(first);
}

/* At large positions an f32 angle is off by 2^-8 after few products: which products, shows. */
static void angles(void **state)
{
    (void)state;
    double freq[8];
    float c, s;
    ts_rope_freq_ggml(1e7, 16, freq);
    const float step = (float)pow(1e7, -2.0 / 16);
    assert_true(freq[0] == (double)step && freq[7] == (double)step);
    for (int64_t pos = 100001; pos < 1000000; pos += 99999) {
        float angle = (float)pos;
        for (int64_t i = 0; i < 8; i++) {
            ts_rope_pair_ggml(freq, i, pos, &c, &s);
            assert_true(fabs((double)c - cos((double)angle)) < 1e-7 && fabs((double)s - sin((double)angle)) < 1e-7);
            angle *= step;
        }
    }
    ts_rope_freq_hf(1e7, 16, freq);
    assert_true(freq[3] == (double)(1 / (float)pow(1e7, 6.0 / 16)));
    ts_rope_pair_hf(freq, 3, 200001, &c, &s);
    const float product = (float)freq[3] * 200001.0f;
    same(c, bf16((float)cos((double)product)));
    same(s, bf16((float)sin((double)product)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding),
        cmocka_unit_test(activations),
        cmocka_unit_test(convolution),
        cmocka_unit_test(rotation),
        cmocka_unit_test(sum_of_squares),
        cmocka_unit_test(norms_of_short_vectors),
        cmocka_unit_test(gated_norm),
        cmocka_unit_test(decay_and_strength),
        cmocka_unit_test(state_dots),
        cmocka_unit_test(weights_of_a_third),
        cmocka_unit_test(running_output_is_f16),
        cmocka_unit_test(queries_meet_an_f16_cache_in_f16),
        cmocka_unit_test(tiles_keep_their_weights),
        cmocka_unit_test(scores_are_rounded_before_the_scale),
        cmocka_unit_test(mlx_products),
        cmocka_unit_test(angles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
