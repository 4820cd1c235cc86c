/* The gates of Kimi Delta Attention against their formulas in double, every channel with numbers of its own. */
#include "call.h"

enum { T = 2, H = 3, D = 4, N = T * H * D };

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static void assert_close(float x, double want)
{
    if (!(fabs((double)x - want) <= 1e-6 * fabs(want)))
        fail_msg("%.9g, not %.9g", (double)x, want);
}

typedef struct {
    float f[N], b[T * H], A_log[H], dt_bias[H * D], g[N], beta[T * H];
    ts_kda_gates_args a;
} gates;

static void make(gates *x)
{
    for (int i = 0; i < N; i++)
        x->f[i] = 0.37f * (float)(i % 11) - 2;
    for (int i = 0; i < T * H; i++)
        x->b[i] = 0.5f * (float)i - 1;
    for (int i = 0; i < H; i++)
        x->A_log[i] = 0.4f * (float)i - 0.3f;
    for (int i = 0; i < H * D; i++)
        x->dt_bias[i] = 0.21f * (float)i - 1;
    x->a = (ts_kda_gates_args){T, H, D, 2, -5, x->f, x->b, x->A_log, x->dt_bias, x->g, x->beta};
}

static void softplus_gate(void **state)
{
    (void)state;
    gates x;
    make(&x);
    ts_ref32.op(TS_OP_KDA_GATES, &x.a);
    for (int i = 0; i < N; i++) {
        int h = i / D % H;
        double f = (double)x.f[i] + (double)x.dt_bias[h * D + i % D];
        assert_close(x.g[i], -exp((double)x.A_log[h]) * log1p(exp(f)));
    }
    for (int i = 0; i < T * H; i++)
        assert_close(x.beta[i], 2 * sigmoid((double)x.b[i]));
}

static void bounded_gate(void **state)
{
    (void)state;
    gates x;
    make(&x);
    ts_ref32.op(TS_OP_KDA_GATES_BOUNDED, &x.a);
    for (int i = 0; i < N; i++) {
        int h = i / D % H;
        double f = (double)x.f[i] + (double)x.dt_bias[h * D + i % D];
        assert_close(x.g[i], -5 * sigmoid(exp((double)x.A_log[h]) * f));
        assert_true(x.g[i] < 0 && x.g[i] >= -5);
    }
    for (int i = 0; i < T * H; i++)
        assert_close(x.beta[i], 2 * sigmoid((double)x.b[i]));
}

static void norm_with_a_sigmoid(void **state)
{
    (void)state;
    const float x[4] = {1, -2, 3, 0.5f}, w[4] = {1, 2, 0.5f, 3}, z[4] = {0, 1, -1, 4};
    float y[4];
    double squares = 0;
    for (int i = 0; i < 4; i++)
        squares += (double)x[i] * (double)x[i];
    ts_gated_norm_args a = {1, 1, 4, 1e-5, x, w, z, y};
    ts_ref32.op(TS_OP_GATED_NORM_SIGMOID, &a);
    for (int i = 0; i < 4; i++)
        assert_close(y[i], (double)x[i] / sqrt(squares / 4 + 1e-5) * (double)w[i] * sigmoid((double)z[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softplus_gate),
        cmocka_unit_test(bounded_gate),
        cmocka_unit_test(norm_with_a_sigmoid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
