/* touchstone op on the fused operations, fed with codes of what a forward pass computed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "quantize.h"
#include "tool.h"
#include "tools/capture.h"
#include "tools/inout.h"
#include "tools/tiny_trace.h"

enum { C = 256 };

static capture got;
static char model[FOLDER_PATH];
static ts_trace *trace;
static int8_t code[T * C];
static float step[T * C / 64], sum[T * C / 64];

static int set_up(void **state)
{
    ts_error err = {0};
    (void)state;
    inout_make();
    folder_file(&dir, "q4", model);
    if (ts_quantize(TINY, model, &(ts_quantize_options){.bits = 4, .group = 64}, &err))
        return -1;
    trace = make_trace(model);
    return 0;
}

static int tear_down(void **state)
{
    folder sub;
    (void)state;
    ts_trace_free(trace);
    snprintf(sub.path, sizeof sub.path, "%.50s/q4", dir.path);
    folder_remove(&sub);
    folder_remove(&dir);
    return 0;
}

static ts_tensor traced(const char *name, const char *as)
{
    return renamed(ts_trace_find(trace, name), name, as);
}

/* The codes of a traced tensor are the first three of t. */
static void put_codes(const char *name, ts_tensor *t)
{
    ts_tensor x = traced(name, "x");
    ts_ref32.op(TS_OP_QUANTIZE_A64, &(ts_quantize_a64_args){T, C, x.data, code, step, sum});
    t[0] = (ts_tensor){"code", TS_I8, 2, {T, C}, code, sizeof code};
    t[1] = floats("step", step, 2, T, C / 64, 0);
    t[2] = floats("sum", sum, 2, T, C / 64, 0);
}

static void assert_gives(const char *op, const char *weight, const ts_tensor *t, size_t n)
{
    write_in(t, n);
    capture_run(&got, ts_cmd_op, "op", "--op", op, "--in", in, "--model", model, "--layer", "0",
                weight ? "--weight" : NULL, weight, NULL);
    if (got.code != TS_OK || !strstr(got.out, "in.safetensors against ref32: "))
        fail_msg("%s: exit %d\n%s%s", op, got.code, got.out, got.err);
}

static void the_trace_again(void **state)
{
    (void)state;
    ts_tensor t[5];
    put_codes("layer.0.post_norm", t);
    t[3] = traced("layer.0.swiglu", "y");
    assert_gives("gate_up_a64s8", NULL, t, 4);
    put_codes("layer.0.input_norm", t);
    t[3] = traced("layer.0.conv", "y");
    t[4] = traced("cache.0.conv_states", "state_out");
    assert_gives("qkv_conv_a64s8", NULL, t, 5);
    t[3] = traced("embed", "x");
    assert_gives("rmsnorm_a64", "input_norm", t, 4);
}

/* They have no matrix without codes, and none without a model. */
static void bad_input(void **state)
{
    (void)state;
    ts_tensor t[3];
    put_codes("layer.0.input_norm", t);
    write_in(t, 3);
    const char *const op[] = {"gate_up_a64s8", "qkv_conv_a64s8"};
    for (int i = 0; i < 2; i++) {
        capture_run(&got, ts_cmd_op, "op", "--op", op[i], "--in", in, "--layer", "0", NULL);
        assert_int_equal(got.code, TS_USAGE);
        assert_non_null(strstr(got.err, "--model"));
        capture_run(&got, ts_cmd_op, "op", "--op", op[i], "--in", in, "--layer", "0", "--model", TINY, NULL);
        assert_int_equal(got.code, TS_BAD);
        assert_non_null(strstr(got.err, "which A64S8 is defined for"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_trace_again), cmocka_unit_test(bad_input)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
