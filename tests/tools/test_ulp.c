/* Are the ulp constants of the error analysis as large as what the sweep over
 * the f32 inputs found, and are the recorded findings those of this ref32? */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/err.h"
#include "format/json.h"
#include "num/convert.h"
#include "ref.h"

static const char file[] = "golden/own/exhaustive.json";

typedef struct {
    const char *name;
    ts_op_id op;
    double constant; /* 0: composed of the others, no constant of its own */
    ts_err (*bound)(ts_err x);
} function;

static const function functions[] = {
    {"exp", TS_OP_EXP, TS_ERR_ULP_EXP, ts_err_exp},
    {"softplus", TS_OP_SOFTPLUS, TS_ERR_ULP_SOFTPLUS, ts_err_softplus},
    {"sigmoid", TS_OP_SIGMOID, 0, ts_err_sigmoid},
    {"silu", TS_OP_SILU, 0, ts_err_silu},
    {"rsqrt", TS_OP_RSQRT, 0, ts_err_rsqrt},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static int load(void **state)
{
    ts_error err;
    return ts_json_load(file, (cJSON **)state, &err) == TS_OK ? 0 : -1;
}

static int unload(void **state)
{
    cJSON_Delete(*state);
    return 0;
}

static const cJSON *found(void **state, const function *f)
{
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(*state, "functions");
    const cJSON *o = cJSON_GetObjectItemCaseSensitive(all, f->name);
    if (!o)
        fail_msg("%s: %s is not in it", file, f->name);
    return o;
}

static double number(const cJSON *o, const char *key)
{
    double v = 0;
    ts_error err;
    assert_int_equal(ts_json_double(file, o, key, &v, &err), TS_OK);
    return v;
}

static float worst_input(const cJSON *o)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, "worst_input"));
    assert_non_null(text);
    return ts_float((uint32_t)strtoul(text, NULL, 16));
}

static double ulp_of(double d)
{
    int e = d == 0 ? -126 : ilogb(d);
    return ldexp(1, (e < -126 ? -126 : e) - 23);
}

static float ref32(ts_op_id op, float x)
{
    float y;
    ts_map_args a = {.n = 1, .x = &x, .y = &y};
    ts_ref32.op(op, &a);
    return y;
}

static void no_constant_is_below_the_worst(void **state)
{
    for (int i = 0; i < FUNCTIONS; i++) {
        double worst = number(found(state, &functions[i]), "worst_ulp");
        if (functions[i].constant > 0 && !(functions[i].constant >= worst))
            fail_msg("%s: the bound takes %g ulp, the sweep found %.9g", functions[i].name, functions[i].constant,
                     worst);
    }
}

/* Contract, section 4. sigmoid and silu are zero where exp(-x) overflows. */
static void three_are_within_one_ulp_of_correctly_rounded(void **state)
{
    for (int i = 0; i < FUNCTIONS; i++)
        if (functions[i].op != TS_OP_SIGMOID && functions[i].op != TS_OP_SILU)
            assert_true(number(found(state, &functions[i]), "more_ulps_off") == 0);
}

/* Otherwise the recorded findings are those of another definition. The bound's centre is the true value. */
static void worst_errors_are_reproduced(void **state)
{
    for (int i = 0; i < FUNCTIONS; i++) {
        const cJSON *o = found(state, &functions[i]);
        float x = worst_input(o), y = ref32(functions[i].op, x);
        ts_err e = functions[i].bound(ts_err_exact(x));
        double error = fabs((double)y - e.v), ulp = ulp_of(e.v);
        if (fabs(error / ulp - number(o, "worst_ulp")) > 1e-6 * (1 + error / ulp))
            fail_msg("%s(%a): %.9g ulp, recorded %.9g", functions[i].name, (double)x, error / ulp,
                     number(o, "worst_ulp"));
        if (!(error <= ts_err_bound(e)))
            fail_msg("%s(%a): off by %g, the bound is %g", functions[i].name, (double)x, error, ts_err_bound(e));
    }
}

static void the_counts_are_those_of_the_stride(void **state)
{
    for (int i = 0; i < FUNCTIONS; i++) {
        const cJSON *o = found(state, &functions[i]);
        double inputs = number(o, "inputs"), stride = number(o, "stride");
        assert_true(inputs == ceil(0x1p32 / stride));
        assert_true(number(o, "correctly_rounded") + number(o, "one_ulp_off") + number(o, "more_ulps_off") ==
                    inputs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_constant_is_below_the_worst),
        cmocka_unit_test(three_are_within_one_ulp_of_correctly_rounded),
        cmocka_unit_test(worst_errors_are_reproduced),
        cmocka_unit_test(the_counts_are_those_of_the_stride),
    };
    return cmocka_run_group_tests_name("ulp", tests, load, unload);
}
