/* One NaN goes in: how many come out of each output, and where the first is, by the definitions. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include "check/call.h"
#include "ref.h"

/* clang-format off */
static const struct {
    const char *name, *output;
    int64_t count, first; /* NaNs; -1: there is none */
} expected[] = {
    {"rmsnorm/nan_one_row", "y", 33, 33},          {"l2norm/nan_one_head", "y", 33, 33},
    {"gated_norm/nan_one_gate", "y", 1, 30},       {"conv1d/nan_one_input", "y", 4, 11},
    {"conv1d/nan_old_state", "y", 0, -1},          {"conv1d/nan_old_state", "state", 0, -1},
    {"rope/nan_one", "y", 2, 33},                  {"attention/nan_one_query", "o", 8, 8},
    {"matmul_dot32/nan_one_input", "y", 5, 5},     {"matmul_dot32/nan_one_weight", "y", 3, 1},
    {"matmul_a64s8/nan_one_sum", "y", 5, 5},       {"matmul_a64s8/nan_one_scale", "y", 3, 1},
    {"gdn_gates/nan_one", "g", 1, 5},              {"gdn_gates/nan_one", "beta", 1, 6},
    {"residual_add/nan_one", "y", 2, 5},           {"swiglu/nan_one", "y", 2, 5},
    {"sigmoid_gate/nan_one", "y", 2, 5},           {"embed/nan_one", "y", 1, 17},
    {"quantize_a64/blocks_one_nan", "sum", 1, 0},  {"quantize_a64/blocks_one_nan", "step", 0, -1},
    {"gdn_step/nan_one_q", "o", 32, 32},           {"gdn_step/nan_one_q", "state", 0, -1},
    {"gdn_step/nan_one_k", "o", 96, 32},           {"gdn_step/nan_one_k", "state", 512, 0},
    {"gdn_step/nan_one_v", "o", 4, 20},            {"gdn_step/nan_one_v", "state", 16, 260},
    {"gdn_step/nan_one_g", "o", 64, 16},           {"gdn_step/nan_one_g", "state", 256, 256},
    {"gdn_step/nan_one_beta", "o", 64, 16},        {"gdn_step/nan_one_beta", "state", 256, 256},
    {"gdn_step/nan_one_state", "o", 4, 5},         {"gdn_step/nan_one_state", "state", 16, 5},
    {"gdn_chunk64/nan_one_q", "o", 32, 32},        {"gdn_chunk64/nan_one_q", "state", 0, -1},
    {"gdn_chunk64/nan_one_k", "o", 96, 32},        {"gdn_chunk64/nan_one_k", "state", 512, 0},
    {"gdn_chunk64/nan_one_v", "o", 4, 20},         {"gdn_chunk64/nan_one_v", "state", 16, 260},
    {"gdn_chunk64/nan_one_g", "o", 64, 16},        {"gdn_chunk64/nan_one_g", "state", 256, 256},
    {"gdn_chunk64/nan_one_beta", "o", 64, 16},     {"gdn_chunk64/nan_one_beta", "state", 256, 256},
    {"gdn_chunk64/nan_one_state", "o", 4, 5},      {"gdn_chunk64/nan_one_state", "state", 16, 5},
    {"grouped_conv/nan_last_of_block", "y", 1, 51}, {"grouped_conv/nan_inside_block", "y", 2, 19},
    {"grouped_conv/nan_one_delta", "y", 8, 24},    {"selector_scores/nan_one_logit", "y", 1, 5},
    {"selector_scores/nan_one_hidden", "y", 4, 4}, {"selector_scores/nan_one_candidate", "y", 6, 1},
    {"top_slots/nan_one_logit", "value", 4, 4},
};
/* clang-format on */

static void run(const char *name, ts_call *call)
{
    char path[128];
    ts_case c;
    ts_error err;
    snprintf(path, sizeof path, "golden/own/cases/%s.json", name);
    assert_int_equal(ts_case_load("golden/own/cases", path, &c, &err), TS_OK);
    assert_int_equal(ts_call_from_case(&c, call, &err), TS_OK);
    ts_ref32.op(c.op, call->args);
    ts_case_free(&c);
}

static void a_nan_comes_out_where_it_belongs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        ts_call call;
        run(expected[i].name, &call);
        ts_tensor t = ts_call_tensor(&call, ts_call_field(&call, expected[i].output));
        int64_t count = 0, first = -1;
        for (int64_t j = 0; j < ts_tensor_count(&t); j++)
            if (isnan(ts_tensor_get(&t, j)) && count++ == 0)
                first = j;
        if (count != expected[i].count || first != expected[i].first)
            fail_msg("%s: %s has %lld NaNs, the first at %lld", expected[i].name, expected[i].output,
                     (long long)count, (long long)first);
        ts_call_free(&call);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_nan_comes_out_where_it_belongs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
