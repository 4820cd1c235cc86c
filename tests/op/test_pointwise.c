/* The elementwise operations, written out again: residual, SwiGLU, gates, RoPE, embedding rows. */
#include "call.h"

enum { N = 500 };

static float map32(ts_op_id id, float x)
{
    float y;
    ts_map_args a = {1, &x, &y};
    ts_ref32.op(id, &a);
    return y;
}

static void zips(void **state)
{
    (void)state;
    float *a = generated("normal:4", 1, N), *b = generated("normal:4", 2, N), y[3][N];
    static const ts_op_id op[] = {TS_OP_RESIDUAL_ADD, TS_OP_SWIGLU, TS_OP_SIGMOID_GATE};
    for (int i = 0; i < 3; i++) {
        ts_zip_args z = {N, a, b, y[i]};
        ts_ref32.op(op[i], &z);
    }
    for (int i = 0; i < N; i++) {
        float sum = a[i] + b[i], swiglu = map32(TS_OP_SILU, a[i]) * b[i];
        float gate = a[i] * map32(TS_OP_SIGMOID, b[i]);
        same_bits(&y[0][i], &sum, 1);
        same_bits(&y[1][i], &swiglu, 1);
        same_bits(&y[2][i], &gate, 1);
    }
    free(a);
    free(b);
}

static void gdn_gates(void **state)
{
    (void)state;
    enum { T = 7, H = 3 };
    float *a = generated("normal:4", 1, T * H), *b = generated("normal:4", 2, T * H);
    float *A_log = generated("normal", 3, H), *dt_bias = generated("normal", 4, H), g[T * H], beta[T * H];
    ts_gdn_gates_args x = {T, H, a, b, A_log, dt_bias, g, beta};
    ts_ref32.op(TS_OP_GDN_GATES, &x);
    for (int i = 0; i < T * H; i++) {
        float softplus = map32(TS_OP_SOFTPLUS, a[i] + dt_bias[i % H]);
        float decay = -(map32(TS_OP_EXP, A_log[i % H]) * softplus), strength = map32(TS_OP_SIGMOID, b[i]);
        assert_true(g[i] <= 0);
        same_bits(&g[i], &decay, 1);
        same_bits(&beta[i], &strength, 1);
    }
    free(a);
    free(b);
    free(A_log);
    free(dt_bias);
}

/* Half-split pairs inside the first R channels, no fma; the rest is copied; in place gives the same. */
static void rope(void **state)
{
    (void)state;
    enum { T = 4, H = 3, D = 10, R = 6 };
    float *x = generated("normal", 1, T * H * D), *c = generated("uniform:-1:1", 2, T * R / 2);
    float *s = generated("uniform:-1:1", 3, T * R / 2), y[T * H * D];
    ts_rope_args a = {T, H, D, R, x, c, s, y};
    ts_ref32.op(TS_OP_ROPE, &a);
    for (int i = 0; i < T * H * D; i++) {
        int t = i / (H * D), d = i % D;
        float cx, sx, want = x[i];
        if (d < R) {
            cx = x[i] * c[t * (R / 2) + d % (R / 2)];
            sx = x[d < R / 2 ? i + R / 2 : i - R / 2] * s[t * (R / 2) + d % (R / 2)];
            want = d < R / 2 ? cx - sx : cx + sx;
        }
        same_bits(&y[i], &want, 1);
    }
    a.y = x;
    ts_ref32.op(TS_OP_ROPE, &a);
    same_bits(x, y, T * H * D);
    free(x);
    free(c);
    free(s);
}

static void embed(void **state)
{
    (void)state;
    enum { V = 5, C = 33 };
    float *w = generated("bf16:1", 1, V * C), y[3 * C];
    double y64[3 * C];
    uint16_t bf16[V * C];
    for (int i = 0; i < V * C; i++)
        bf16[i] = ts_f32_to_bf16(w[i]);
    const int32_t id[3] = {4, 0, 4};
    ts_matrix m = {.format = TS_W_BF16, .N = V, .K = C, .data = bf16};
    ts_embed_args a = {3, V, C, id, &m, y}, b = {3, V, C, id, &m, ts_f64(y64)};
    ts_ref32.op(TS_OP_EMBED, &a);
    ts_ref64.op(TS_OP_EMBED, &b);
    for (int i = 0; i < 3 * C; i++)
        assert_true(y[i] == w[id[i / C] * C + i % C] && y64[i] == (double)y[i]);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zips),
        cmocka_unit_test(gdn_gates),
        cmocka_unit_test(rope),
        cmocka_unit_test(embed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
