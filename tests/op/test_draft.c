/* The operations of the drafter DFlash2 against answers worked out by hand and plain second codings. */
#include "call.h"

enum { V = 23, R = 37 };

/* Row t of two blocks of 2, channels 0 .. 3 in groups of 2: x = 10 t + c + 1. */
static ts_grouped_conv_args conv(int64_t side, float *y)
{
    static const float x[] = {1, 2, 3, 4, 11, 12, 13, 14, 21, 22, 23, 24, 31, 32, 33, 34};
    static const float base[] = {1, 2, 3, 4, /* side 0, tap 0 */ 100, 200, 300, 400, /* tap 1 */
                                 5, 6, 7, 8, /* side 1, tap 0 */ 500, 600, 700, 800};
    static float delta[4 * 8]; /* row t: side, tap, group */
    for (int i = 0; i < 32; i++)
        delta[i] = (float)(i / 8 * 1000 + i % 8 * 10000);
    return (ts_grouped_conv_args){
        .T = 4, .C = 4, .W = 2, .group = 2, .block = 2, .side = side, .x = x, .base = base, .delta = delta, .y = y};
}

static void a_kernel_of_each_row_goes_over_its_block(void **state)
{
    (void)state;
    /* Channel 3, group 1: delta of row t is 1000 t + 10000 (4 side + 2 tap + 1). */
    static const float want[2][4] = {{4 * (4 + 10000.0f), 14 * (4 + 11000.0f) + 4 * (400 + 31000.0f),
                                      24 * (4 + 12000.0f), 34 * (4 + 13000.0f) + 24 * (400 + 33000.0f)},
                                     {4 * (8 + 50000.0f), 14 * (8 + 51000.0f) + 4 * (800 + 71000.0f),
                                      24 * (8 + 52000.0f), 34 * (8 + 53000.0f) + 24 * (800 + 73000.0f)}};
    for (int side = 0; side < 2; side++) {
        float y[16];
        ts_grouped_conv_args a = conv(side, y);
        ts_ref32.op(TS_OP_GROUPED_CONV, &a);
        for (int t = 0; t < 4; t++)
            assert_true(y[4 * t + 3] == want[side][t]);
        assert_true(y[0] == (side ? 5 + 40000.0f : 1)); /* group 0 */
    }
}

/* Products are rounded before they are added: fma would leave 2^-46; so is base + delta, which loses delta. */
static void nothing_is_fused(void **state)
{
    (void)state;
    const float one = 1 + 0x1p-23f, x[] = {-(1 + 0x1p-22f), one}, base[] = {one, 1, 0, 0};
    const float delta[] = {0, 0, 0, 0, 0x1p-25f, 0x1p-30f, 0, 0};
    float y[2];
    ts_grouped_conv_args a = {
        .T = 2, .C = 1, .W = 2, .group = 1, .block = 2, .x = x, .base = base, .delta = delta, .y = y};
    ts_ref32.op(TS_OP_GROUPED_CONV, &a);
    assert_true(y[1] == 0);
}

/* A row that does not exist is not multiplied: infinity times nothing is nothing. */
static void absent_rows_are_not_zero_rows(void **state)
{
    (void)state;
    const float x[] = {2, 3, 5}, base[] = {1, INFINITY, 0, 0}, delta[12] = {0};
    float y[3];
    ts_grouped_conv_args a = {
        .T = 3, .C = 1, .W = 2, .group = 1, .block = 2, .x = x, .base = base, .delta = delta, .y = y};
    ts_ref32.op(TS_OP_GROUPED_CONV, &a);
    assert_true(y[0] == 2 && isinf(y[1]) && y[2] == 5);
}

/* Everything an integer below 2^24: any order gives this sum. */
static void scores_are_logit_and_agreement(void **state)
{
    (void)state;
    float *pred = generated("ints:-4:4", 1, V * R), *succ = generated("ints:-4:4", 2, V * R),
          *g = generated("ints:-4:4", 3, 3 * R), *U = generated("ints:-99:99", 4, 12), y[12];
    const int32_t prev[] = {22, 0, 7}, cand[] = {1, 22, 1, 0, 5, 6, 7, 8, 22, 21, 20, 19};
    const ts_matrix p = {.format = TS_W_F32, .N = V, .K = R, .data = pred},
                    s = {.format = TS_W_F32, .N = V, .K = R, .data = succ};
    ts_selector_scores_args a = {3, 4, R, V, prev, cand, U, g, &p, &s, y};
    ts_ref32.op(TS_OP_SELECTOR_SCORES, &a);
    for (int i = 0; i < 12; i++) {
        float sum = U[i];
        for (int r = 0; r < R; r++)
            sum += pred[prev[i / 4] * R + r] * g[i / 4 * R + r] * succ[cand[i] * R + r];
        assert_true(y[i] == sum);
    }
    free(pred);
    free(succ);
    free(g);
    free(U);
}

/* pred g is rounded to f32 before it meets succ; the sum is rounded before U joins it. */
static void scores_round_where_they_say(void **state)
{
    (void)state;
    const float one = 1 + 0x1p-12f, row[] = {one, 1}, back[] = {1, -(1 + 0x1p-11f)}, g[] = {one, 1};
    const float U[] = {0x1p-30f};
    const int32_t id[] = {0};
    const ts_matrix p = {.format = TS_W_F32, .N = 1, .K = 2, .data = row},
                    s = {.format = TS_W_F32, .N = 1, .K = 2, .data = back};
    float y;
    ts_selector_scores_args a = {1, 1, 2, 1, id, id, U, g, &p, &s, &y};
    ts_ref32.op(TS_OP_SELECTOR_SCORES, &a);
    assert_true(y == 0x1p-30f); /* (1 + 2^-12)^2 is 1 + 2^-11 in f32 */
}

static void assert_slots(const float *x, int64_t n, int64_t K, const int32_t *want)
{
    int32_t id[TS_MOST_SLOTS];
    float value[TS_MOST_SLOTS];
    ts_top_slots_args a = {1, n, K, x, id, value};
    ts_ref32.op(TS_OP_TOP_SLOTS, &a);
    for (int64_t k = 0; k < K; k++) {
        assert_int_equal(id[k], want[k]);
        assert_true(ts_bits(value[k]) == ts_bits(x[want[k]]));
    }
}

static void slots_are_the_largest_in_order(void **state)
{
    (void)state;
    const float x[] = {1, 5, -2, 5, 7, 0, -0.0f, 5, -INFINITY, 7}, rising[] = {1, 2, 3, 4, 5};
    assert_slots(x, 10, 1, (int32_t[]){4});
    assert_slots(x, 10, 4, (int32_t[]){4, 9, 1, 3});
    assert_slots(x, 10, 10, (int32_t[]){4, 9, 1, 3, 7, 0, 5, 6, 2, 8});
    assert_slots(x + 5, 2, 2, (int32_t[]){0, 1});
    assert_slots(x + 6, 1, 1, (int32_t[]){0});
    assert_slots(rising, 5, 3, (int32_t[]){4, 3, 2});
}

static void a_row_with_a_nan_has_no_slots(void **state)
{
    (void)state;
    const float x[] = {3, 1, 2, 1, 2, NAN, 2, 9, 4};
    int32_t id[6];
    float value[6];
    ts_top_slots_args a = {3, 3, 2, x, id, value};
    ts_ref32.op(TS_OP_TOP_SLOTS, &a);
    const int32_t want[] = {0, 2, -1, -1, 1, 2};
    for (int k = 0; k < 6; k++) {
        assert_int_equal(id[k], want[k]);
        assert_true(isnan(value[k]) == (want[k] < 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_of_each_row_goes_over_its_block),
        cmocka_unit_test(nothing_is_fused),
        cmocka_unit_test(absent_rows_are_not_zero_rows),
        cmocka_unit_test(scores_are_logit_and_agreement),
        cmocka_unit_test(scores_round_where_they_say),
        cmocka_unit_test(slots_are_the_largest_in_order),
        cmocka_unit_test(a_row_with_a_nan_has_no_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
