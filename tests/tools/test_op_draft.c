/* touchstone op where no shape and no model says all: dims from the file, integers that come out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ref.h"
#include "tool.h"
#include "tools/capture.h"
#include "tools/inout.h"

enum { ROWS = 3, CHANNELS = 4 };

static capture got;
static float x[ROWS * CHANNELS], base[4 * CHANNELS], delta[ROWS * 8], y[ROWS * CHANNELS];

static int set_up(void **state)
{
    (void)state;
    inout_make();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    folder_remove(&dir);
    return 0;
}

static ts_tensor number(const char *name, const int32_t *value)
{
    return (ts_tensor){name, TS_I32, 0, {0}, value, sizeof *value};
}

static int run_op(const char *op, const ts_tensor *t, size_t n)
{
    write_in(t, n);
    return capture_run(&got, ts_cmd_op, "op", "--op", op, "--in", in, "-o", out, NULL);
}

static void dims_of_the_file(void **state)
{
    (void)state;
    const int32_t group = 2, block = 2, side = 1, three = 3;
    for (int i = 0; i < ROWS * 8; i++)
        delta[i] = (float)(i % 5);
    for (int i = 0; i < ROWS * CHANNELS; i++)
        x[i] = (float)i;
    for (int i = 0; i < 4 * CHANNELS; i++)
        base[i] = (float)(i * 2);
    ts_ref32.op(TS_OP_GROUPED_CONV, &(ts_grouped_conv_args){ROWS, CHANNELS, 2, 2, 2, 1, x, base, delta, y});
    ts_tensor t[] = {floats("x", x, 2, ROWS, CHANNELS, 0),
                     floats("base", base, 3, 2, 2, CHANNELS),
                     {"delta", TS_F32, 4, {ROWS, 2, 2, 2}, delta, sizeof delta},
                     number("group", &group),
                     number("block", &block),
                     number("side", &side),
                     floats("y", y, 2, ROWS, CHANNELS, 0)};
    assert_int_equal(run_op("grouped_conv", t, 7), TS_OK);
    assert_non_null(strstr(got.out, "in.safetensors against ref32: y"));
    t[3] = number("group", &three);
    assert_int_equal(run_op("grouped_conv", t, 7), TS_BAD);
    assert_int_equal(run_op("grouped_conv", t, 3), TS_BAD);
    assert_non_null(strstr(got.err, "group"));
}

static void ids_come_out_as_integers(void **state)
{
    (void)state;
    static const float logits[] = {1, 5, 2, 5, 0, 9, 8, 7, 6, 5};
    static const int32_t want[] = {1, 3, 2, 0, 1, 2}, K = 3, seventeen = 17;
    ts_tensor t[] = {floats("logits", logits, 2, 2, 5, 0), number("K", &K)};
    assert_int_equal(run_op("top_slots", t, 2), TS_OK);
    ts_safetensors *f = NULL;
    assert_int_equal(ts_safetensors_open(out, &f, NULL), TS_OK);
    const ts_tensor *id = ts_safetensors_find(f, "id");
    assert_non_null(id);
    assert_int_equal(id->dtype, TS_I32);
    assert_memory_equal(id->data, want, sizeof want);
    ts_safetensors_close(f);
    t[1] = number("K", &seventeen);
    assert_int_equal(run_op("top_slots", t, 2), TS_BAD);
}

static void codebooks_are_of_no_model(void **state)
{
    (void)state;
    static const float logits[] = {1, 5};
    ts_tensor t[] = {floats("U", logits, 2, 1, 2, 0)};
    assert_int_equal(run_op("selector_scores", t, 1), TS_USAGE);
    assert_non_null(strstr(got.err, "reads a matrix"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(dims_of_the_file),
                                       cmocka_unit_test(ids_come_out_as_integers),
                                       cmocka_unit_test(codebooks_are_of_no_model)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
