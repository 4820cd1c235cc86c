/* Experts: who is kept, with what weight, and how their outputs are added. Small rows whose answers can be worked
 * out by hand. */
#include "call.h"

enum { E = 8 };

static ts_moe_router_args router(int64_t k, const float *logits, const float *bias, float *weight, float *score)
{
    return (ts_moe_router_args){.T = 1,
                                .E = E,
                                .k = k,
                                .renorm = 1,
                                .groups = 1,
                                .topk_groups = 1,
                                .scale = 1,
                                .logits = logits,
                                .bias = bias,
                                .weight = weight,
                                .score = score};
}

static void assert_kept(const float *weight, const char *want)
{
    for (int e = 0; e < E; e++)
        if ((weight[e] != 0) != (want[e] == 'x'))
            fail_msg("expert %d of \"%s\" has weight %g", e, want, (double)weight[e]);
}

static void assert_close(float x, double want)
{
    if (!(fabs((double)x - want) <= 1e-6 * fabs(want)))
        fail_msg("%.9g, not %.9g", (double)x, want);
}

static void ties_go_to_the_lower_id(void **state)
{
    (void)state;
    const float equal[E] = {0}, some[E] = {1, 2, 0, 2, 2, 2, 0, 1}, zero[E] = {0};
    float w[E], score[E];
    ts_moe_router_args a = router(3, equal, zero, w, score);
    ts_ref32.op(TS_OP_MOE_ROUTER_SOFTMAX, &a);
    assert_kept(w, "xxx.....");
    ts_ref32.op(TS_OP_MOE_ROUTER_SIGMOID, &a);
    assert_kept(w, "xxx.....");
    a.logits = some;
    ts_ref32.op(TS_OP_MOE_ROUTER_SOFTMAX, &a);
    assert_kept(w, ".x.xx...");
    ts_ref32.op(TS_OP_MOE_ROUTER_SIGMOID, &a);
    assert_kept(w, ".x.xx...");
}

static void softmax_weights(void **state)
{
    (void)state;
    const float x[E] = {0, 1, 2, 3, -1, -2, -3, -4};
    double sum = 0, kept = exp(3) + exp(2);
    float w[E];
    for (int e = 0; e < E; e++)
        sum += exp((double)x[e]);
    ts_moe_router_args a = router(2, x, NULL, w, NULL);
    ts_ref32.op(TS_OP_MOE_ROUTER_SOFTMAX, &a);
    assert_kept(w, "..xx....");
    assert_close(w[2], exp(2) / kept);
    assert_close(w[3], exp(3) / kept);
    a.renorm = 0;
    ts_ref32.op(TS_OP_MOE_ROUTER_SOFTMAX, &a);
    assert_close(w[2], exp(2) / sum); /* of all experts, not of those kept */
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static void a_bias_selects_and_never_weighs(void **state)
{
    (void)state;
    const float x[E] = {3, 2, 1, 0, -1, -2, -3, -4}, bias[E] = {0, 0, 0, 5, 0, 5, 0, 0};
    float w[E], score[E];
    ts_moe_router_args a = router(2, x, bias, w, score);
    a.scale = 2.446;
    ts_ref32.op(TS_OP_MOE_ROUTER_SIGMOID, &a);
    assert_kept(w, "...x.x..");
    assert_close(w[3], sigmoid(0) / (sigmoid(0) + sigmoid(-2)) * 2.446);
    a.renorm = 0;
    ts_ref32.op(TS_OP_MOE_ROUTER_SIGMOID, &a);
    assert_close(w[5], sigmoid(-2) * 2.446);
}

/* Groups {0,1} {2,3} {4,5} {6,7}: two largest choices added; choices below 0 lose to no masked 0. */
static void groups(void **state)
{
    (void)state;
    const float x[E] = {4, -9, 1, 1, 2, -1, 0, 0}, low[E] = {-3, -3, -3, -3, -3, -3, -3, -3}, zero[E] = {0};
    float w[E], score[E];
    ts_moe_router_args a = router(3, x, low, w, score);
    a.groups = 4;
    a.topk_groups = 2;
    ts_ref32.op(TS_OP_MOE_ROUTER_SIGMOID, &a);
    assert_close(score[1], 2 * sigmoid(1) - 6);
    assert_kept(w, "..xxx...");
    a.k = 1;
    ts_ref32.op(TS_OP_MOE_ROUTER_SIGMOID, &a);
    assert_kept(w, "....x..."); /* expert 0 is the best, but its group is not among the two best */
    a.logits = zero;
    a.bias = zero;
    a.topk_groups = 1;
    ts_ref32.op(TS_OP_MOE_ROUTER_SIGMOID, &a);
    assert_kept(w, "x......."); /* tied groups: the lower one */
}

static void fewer_left_than_wanted(void **state)
{
    (void)state;
    const float x[E] = {1, 2, 3, 4, 5, 6, 7, 8}, zero[E] = {0};
    float w[E], score[E];
    ts_moe_router_args a = router(4, x, zero, w, score);
    a.groups = 4;
    a.topk_groups = 1;
    ts_ref32.op(TS_OP_MOE_ROUTER_SIGMOID, &a);
    assert_kept(w, "......xx");
}

static void a_nan_takes_its_row(void **state)
{
    (void)state;
    float x[2 * E] = {0}, w[2 * E], score[2], zero[E] = {0};
    x[3] = NAN;
    ts_moe_router_args a = router(2, x, zero, w, score);
    a.T = 2;
    const ts_op_id both[] = {TS_OP_MOE_ROUTER_SOFTMAX, TS_OP_MOE_ROUTER_SIGMOID};
    for (int i = 0; i < 2; i++) {
        ts_ref32.op(both[i], &a);
        for (int e = 0; e < E; e++)
            assert_true(isnan(w[e]) && !isnan(w[E + e]));
    }
    assert_true(isnan(score[0]) && !isnan(score[1]));
}

static void outputs_are_added_by_id(void **state)
{
    (void)state;
    const float weight[4] = {1, 1, 0, 1}, x[4] = {16777216, 1, NAN, 1};
    float y;
    ts_moe_accumulate_args a = {1, 4, 1, weight, x, &y};
    ts_ref32.op(TS_OP_MOE_ACCUMULATE, &a);
    assert_true(y == 16777216); /* from the other end it is 16777218; the NaN has no weight */
    const float negative = -0.0f, one = 1;
    a = (ts_moe_accumulate_args){1, 1, 1, &one, &negative, &y};
    ts_ref32.op(TS_OP_MOE_ACCUMULATE, &a);
    assert_true(y == 0 && !signbit(y)); /* +0 to begin with */
}

static void one_gate_a_row(void **state)
{
    (void)state;
    const float x[4] = {1, 2, 3, 4}, gate[2] = {0, -1000};
    float y[4];
    ts_row_gate_args a = {2, 2, x, gate, y};
    ts_ref32.op(TS_OP_ROW_GATE, &a);
    assert_true(y[0] == 0.5f && y[1] == 1 && y[2] == 0 && y[3] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ties_go_to_the_lower_id),         cmocka_unit_test(softmax_weights),
        cmocka_unit_test(a_bias_selects_and_never_weighs), cmocka_unit_test(groups),
        cmocka_unit_test(fewer_left_than_wanted),          cmocka_unit_test(a_nan_takes_its_row),
        cmocka_unit_test(outputs_are_added_by_id),         cmocka_unit_test(one_gate_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
