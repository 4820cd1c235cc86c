/* What the rest of a layer is in the R9700 engine LSE: a published hash of its split attention, and orders, floors
 * and clamps against plain codings. */
#include "call.h"

#include "num/exp_cr.h"

static uint32_t lcg;

static float draw(float unit)
{
    lcg = lcg * 1664525u + 1013904223u;
    return (float)((int)((lcg >> 16) % 17) - 8) * unit;
}

static uint32_t fnv(const float *x, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n * sizeof *x; i++)
        h = (h ^ ((const uint8_t *)x)[i]) * 16777619u;
    return h;
}

/* One query over 1041 keys of 256 channels in bf16: made and hashed outside, with gcc 12. */
static void published_hash_of_split_attention(void **state)
{
    (void)state;
    enum { L = 1041, D = 256, PAGE = 16, PAGES = (L + PAGE - 1) / PAGE };
    float q[D], o[D];
    uint16_t *k = room((int64_t)PAGES * PAGE * D, 2), *v = room((int64_t)PAGES * PAGE * D, 2);
    int32_t table[PAGES], pos = L - 1, len = L;
    lcg = 42;
    for (int i = 0; i < D; i++)
        q[i] = draw(1.0f / 32);
    for (int i = 0; i < L * D; i++) {
        k[i] = ts_f32_to_bf16(draw(1.0f / 8));
        v[i] = ts_f32_to_bf16(draw(1.0f / 8));
    }
    for (int i = 0; i < PAGES; i++)
        table[i] = i;
    ts_attention_args a = {
        .T = 1,
        .Hq = 1,
        .Hkv = 1,
        .D = D,
        .parts = (L + 127) / 128,
        .scale = 0.0625,
        .q = q,
        .pos = &pos,
        .len = &len,
        .kv = {.dtype = TS_KV_BF16, .page = PAGE, .pages = PAGES, .table = table, .k = k, .v = v},
        .o = o};
    ts_ref32.op(TS_OP_ATTENTION_LSE, &a);
    assert_true(o[0] == 0x1.239ceep-5f && o[255] == 0x1.f516a2p-14f);
    assert_int_equal(fnv(o, D), 0xf27ceb6au);
    free(k);
    free(v);
}

static float fold(float *lane, int down)
{
    for (int i = 0; i < 5; i++) {
        int mask = down ? 16 >> i : 1 << i;
        float next[32];
        for (int l = 0; l < 32; l++)
            next[l] = lane[l] + lane[l ^ mask];
        memcpy(lane, next, sizeof next);
    }
    return lane[0];
}

/* The partial sums of 256 threads, one of them after another. */
static void order_of_the_norm(void **state)
{
    (void)state;
    enum { N = 700 };
    float x[N], w[N], y[N], lane[32], P[256] = {0};
    ts_generate("normal", 3, 0, x, N, NULL);
    ts_generate("normal", 3, 1, w, N, NULL);
    for (int t = 0; t < 256; t++)
        for (int c = t; c < N; c += 256)
            P[t] = fmaf(x[c], x[c], P[t]);
    for (int l = 0; l < 32; l++) {
        float a0 = P[l] + P[l + 128], a1 = P[l + 64] + P[l + 192], a2 = P[l + 32] + P[l + 160],
              a3 = P[l + 96] + P[l + 224];
        lane[l] = (a0 + a1) + (a2 + a3);
    }
    float r = 1 / sqrtf(fold(lane, 1) / N + 1e-6f);
    ts_rmsnorm_args a = {1, N, 1, 1e-6, x, w, y};
    ts_ref32.op(TS_OP_RMSNORM_LSE, &a);
    for (int i = 0; i < N; i++)
        assert_true(y[i] == (x[i] * r) * (1 + w[i]));
}

static void a_floor_under_the_norm(void **state)
{
    (void)state;
    const float tiny[4] = {3e-8f, -4e-8f, 0, 0}, unit[4] = {3, -4, 0, 0};
    float y[4];
    const ts_op_id both[] = {TS_OP_L2NORM_LSE, TS_OP_L2NORM_LSE_ROWS};
    for (int i = 0; i < 2; i++) {
        ts_l2norm_args a = {1, 1, 4, 1e-6, 1, tiny, y};
        ts_ref32.op(both[i], &a);
        assert_true(y[0] == 3e-8f * (1 / 1e-6f)); /* not divided by a norm of 5e-8 */
        a.x = unit;
        a.scale = 0.5;
        ts_ref32.op(both[i], &a);
        assert_true(y[0] == (3.0f * (1 / 5.0f)) * 0.5f && y[1] == (-4.0f * (1 / 5.0f)) * 0.5f);
    }
}

static void orders_of_the_l2norm(void **state)
{
    (void)state;
    enum { D = 128 };
    float x[D], y[D], lane[32] = {0}, chain = 0;
    ts_generate("normal", 5, 0, x, D, NULL);
    for (int i = 0; i < D; i++) {
        lane[i % 32] = fmaf(x[i], x[i], lane[i % 32]);
        chain = fmaf(x[i], x[i], chain);
    }
    float wave = fold(lane, 0);
    ts_l2norm_args a = {1, 1, D, 1e-6, 1, x, y};
    ts_ref32.op(TS_OP_L2NORM_LSE, &a);
    for (int i = 0; i < D; i++)
        assert_true(y[i] == x[i] * (1 / sqrtf(wave)));
    ts_ref32.op(TS_OP_L2NORM_LSE_ROWS, &a);
    for (int i = 0; i < D; i++)
        assert_true(y[i] == x[i] * (1 / sqrtf(chain)));
}

static void beta_is_clamped(void **state)
{
    (void)state;
    const float a[4] = {0, 25, -30, 1}, b[4] = {0, 100, -100, NAN}, rate[4] = {0}, bias[4] = {0};
    float g[4], beta[4];
    ts_gdn_gates_args x = {1, 4, a, b, rate, bias, g, beta};
    ts_ref32.op(TS_OP_GDN_GATES_LSE, &x);
    assert_true(beta[0] == 0.5f && beta[1] == (float)(1 - 1e-4) && beta[2] == (float)1e-4 && isnan(beta[3]));
    assert_true(g[1] == -25 && g[2] == 0); /* log(1 + exp(-30)) is lost */
    assert_true(fabs((double)g[0] + log(2)) < 1e-7);
}

/* One head of 64 key channels: two terms a lane. */
static void order_of_the_step(void **state)
{
    (void)state;
    enum { K = 64 };
    float q[K], k[K], S[K], before[K], v = 0.3f, g = -0.2f, beta = 0.7f, o, lane[32] = {0};
    ts_generate("normal", 7, 0, q, K, NULL);
    ts_generate("normal:0.1", 7, 1, k, K, NULL);
    ts_generate("normal", 7, 2, S, K, NULL);
    for (int i = 0; i < K; i++) {
        before[i] = S[i] * ts_exp_cr(g);
        lane[i % 32] = fmaf(before[i], k[i], lane[i % 32]);
    }
    float d = (v - fold(lane, 0)) * beta, out[32] = {0};
    ts_gdn_args a = {.T = 1,
                     .Hk = 1,
                     .Hv = 1,
                     .Dk = K,
                     .Dv = 1,
                     .q = q,
                     .k = k,
                     .v = &v,
                     .g = &g,
                     .beta = &beta,
                     .state = S,
                     .o = &o};
    ts_ref32.op(TS_OP_GDN_STEP_LSE, &a);
    for (int i = 0; i < K; i++) {
        assert_true(S[i] == fmaf(d, k[i], before[i]));
        out[i % 32] = fmaf(S[i], q[i], out[i % 32]);
    }
    assert_true(o == fold(out, 0));
}

static void silu_with_the_nearest_exp(void **state)
{
    (void)state;
    enum { D = 40 };
    float x[D], w[D], z[D], y[D], up[D];
    ts_generate("normal", 9, 0, x, D, NULL);
    ts_generate("normal", 9, 1, w, D, NULL);
    ts_generate("normal:4", 9, 2, z, D, NULL);
    ts_zip_args s = {D, z, x, up};
    ts_ref32.op(TS_OP_SWIGLU_LSE, &s);
    ts_gated_norm_args n = {1, 1, D, 1e-6, x, w, z, y};
    ts_rmsnorm_args r = {1, D, 0, 1e-6, x, w, x};
    ts_ref32.op(TS_OP_GATED_NORM_LSE, &n);
    for (int i = 0; i < D; i++)
        assert_true(up[i] == z[i] / (1 + ts_exp_cr(-z[i])) * x[i]);
    ts_ref32.op(TS_OP_RMSNORM_LSE, &r);
    for (int i = 0; i < D; i++)
        assert_true(y[i] == x[i] * (z[i] / (1 + ts_exp_cr(-z[i]))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_hash_of_split_attention),
        cmocka_unit_test(order_of_the_norm),
        cmocka_unit_test(a_floor_under_the_norm),
        cmocka_unit_test(orders_of_the_l2norm),
        cmocka_unit_test(beta_is_clamped),
        cmocka_unit_test(order_of_the_step),
        cmocka_unit_test(silu_with_the_nearest_exp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
