/* The causal depthwise convolution: to the bit, and cut into pieces. */
#include "call.h"

enum { T = 23, C = 5 };

static void conv(const float *x, const float *w, int64_t W, int64_t rows, float *u, float *y)
{
    ts_conv1d_args a = {rows, C, W, x, w, u, y};
    ts_ref32.op(TS_OP_CONV1D, &a);
}

static float silu32(float x)
{
    float y;
    ts_map_args a = {1, &x, &y};
    ts_ref32.op(TS_OP_SILU, &a);
    return y;
}

static void to_the_bit(void **state)
{
    (void)state;
    for (int64_t W = 1; W <= 5; W++) {
        float *x = generated("normal", 1, T * C), *w = generated("normal", 2, C * W), *u = floats(C * W), y[T * C];
        conv(x, w, W, T, u, y);
        for (int64_t t = 0; t < T; t++)
            for (int64_t c = 0; c < C; c++) {
                float acc = 0; /* tap W-1 multiplies the newest */
                for (int64_t j = 0; j < W; j++)
                    acc = fmaf(w[c * W + j], t - (W - 1) + j < 0 ? 0 : x[(t - (W - 1) + j) * C + c], acc);
                acc = silu32(acc);
                same_bits(&y[t * C + c], &acc, 1);
            }
        for (int64_t j = 0; j < W; j++)
            for (int64_t c = 0; c < C; c++)
                assert_true(u[c * W + j] == x[(T - W + j) * C + c]);
        free(x);
        free(w);
        free(u);
    }
}

/* Pieces of 0, 1, 2, ... rows (shorter and longer than W - 1), the state carried. */
static void pieces(void **state)
{
    (void)state;
    enum { W = 4 };
    float *x = generated("normal", 1, T * C), *w = generated("normal", 2, C * W);
    float *u = generated("normal", 3, C * W), *v = copied(u, C * W), whole[T * C], cut[T * C];
    conv(x, w, W, T, u, whole);
    int64_t done = 0;
    for (int64_t piece = 0; done < T; piece++) {
        int64_t rows = piece < T - done ? piece : T - done;
        conv(x + done * C, w, W, rows, v, cut + done * C);
        done += rows;
    }
    same_bits(cut, whole, T * C);
    same_bits(v, u, C * W);
    free(x);
    free(w);
    free(u);
    free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(to_the_bit),
        cmocka_unit_test(pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
