/* The sweep of all inputs, with a stride; its record, and what BOUND takes from it. */
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
#include "sweep/record.h"

static const char RECORD[] = "golden/own/exhaustive.json";

static cJSON *record(void)
{
    cJSON *json = NULL;
    assert_int_equal(ts_json_load(RECORD, &json, NULL), TS_OK);
    return json;
}

static const cJSON *record_of(const cJSON *json, const char *function)
{
    const cJSON *f = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(json, "functions"),
                                                      function);
    assert_non_null(f);
    return f;
}

static double number(const cJSON *o, const char *key)
{
    const cJSON *x = cJSON_GetObjectItemCaseSensitive(o, key);
    assert_true(cJSON_IsNumber(x));
    return x->valuedouble;
}

static float input(const cJSON *entry)
{
    const char *bits = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "bits"));
    assert_non_null(bits);
    return ts_float((uint32_t)strtoul(bits, NULL, 16));
}

static bool full(const cJSON *json, const char *function)
{
    return number(record_of(json, function), "stride") == 1;
}

/* Nothing that a sweep of all inputs did not find. */
static void strided(void **state)
{
    (void)state;
    cJSON *json = record();
    for (int i = 0; ts_sweep_at(i); i++) {
        const ts_sweep_function *f = ts_sweep_at(i);
        ts_sweep s;
        double ulp = HUGE_VAL;
        assert_int_equal(ts_sweep_run(f, 65521, false, &s, NULL), TS_OK);
        assert_int_equal(s.inputs, 65552);
        assert_true(ts_sweep_good(f, &s));
        assert_int_equal(ts_sweep_recorded_ulp(RECORD, json, f->name, &ulp, NULL),
                         full(json, f->name) ? TS_OK : TS_BAD);
        assert_true(s.range[0].worst.n > 0 && s.range[0].worst.key[0] <= ulp + 1e-9);
    }
    cJSON_Delete(json);
}

/* Every input is counted once, and none breaks the contract. What BOUND takes is of all inputs. */
static void counts(void **state)
{
    (void)state;
    cJSON *json = record();
    for (int i = 0; ts_sweep_at(i); i++) {
        const cJSON *f = record_of(json, ts_sweep_at(i)->name), *r;
        double sum = 0, inputs = ceil(0x1p32 / number(f, "stride"));
        assert_true(number(f, "inputs") == inputs && number(f, "unequal_to_ref32") == 0);
        cJSON_ArrayForEach (r, cJSON_GetObjectItemCaseSensitive(f, "ranges")) {
            const cJSON *off = cJSON_GetObjectItemCaseSensitive(r, "ulp_from_correctly_rounded");
            sum += number(off, "0") + number(off, "1") + number(off, "2") + number(off, "more") + number(r, "nan");
            assert_true(number(r, "wrong_class") == 0);
            if (r->prev->next == NULL) /* the first: x >= split */
                assert_true(number(off, "largest") <= (double)ts_sweep_at(i)->allowed);
        }
        assert_true(sum == inputs);
    }
    assert_true(full(json, "exp") && full(json, "softplus"));
    cJSON_Delete(json);
}

typedef struct {
    const char *function;
    ts_err (*bound)(ts_err x);
} bounded;

/* BOUND's centre is the true value: what it allows covers the worst inputs. */
static void bounds_hold_at_the_worst(void **state)
{
    (void)state;
    static const bounded all[] = {{"exp", ts_err_exp},
                                  {"softplus", ts_err_softplus},
                                  {"sigmoid", ts_err_sigmoid},
                                  {"silu", ts_err_silu},
                                  {"rsqrt", ts_err_rsqrt}};
    cJSON *json = record();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const cJSON *range, *e;
        cJSON_ArrayForEach (range, cJSON_GetObjectItemCaseSensitive(record_of(json, all[i].function), "ranges"))
            cJSON_ArrayForEach (e, cJSON_GetObjectItemCaseSensitive(range, "worst")) {
                float x = input(e), y = ts_sweep_apply(ts_sweep_find(all[i].function), x);
                ts_err bound = all[i].bound(ts_err_exact(x));
                assert_true(isfinite(bound.e) && fabs((double)y - bound.v) <= ts_err_bound(bound));
            }
    }
    cJSON_Delete(json);
}

/* The worst inputs of the record give the recorded results today. */
static void recorded_values(void **state)
{
    (void)state;
    cJSON *json = record();
    for (int i = 0; ts_sweep_at(i); i++) {
        const cJSON *f = record_of(json, ts_sweep_at(i)->name), *e;
        const cJSON *range = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(f, "ranges"), 0);
        cJSON_ArrayForEach (e, cJSON_GetObjectItemCaseSensitive(range, "worst")) {
            float y = strtof(cJSON_GetObjectItemCaseSensitive(e, "y")->valuestring, NULL);
            assert_true(ts_sweep_apply(ts_sweep_at(i), input(e)) == y);
        }
    }
    cJSON_Delete(json);
}

static void header_is_the_record(void **state)
{
    (void)state;
    char *want, *have;
    size_t size;
    double e, softplus;
    cJSON *json = record();
    assert_int_equal(ts_sweep_header(RECORD, &want, NULL), TS_OK);
    assert_int_equal(ts_read_file("tools/check/ulp.h", &have, &size, NULL), TS_OK);
    assert_string_equal(want, have);
    assert_int_equal(ts_sweep_recorded_ulp(RECORD, json, "exp", &e, NULL), TS_OK);
    assert_int_equal(ts_sweep_recorded_ulp(RECORD, json, "softplus", &softplus, NULL), TS_OK);
    assert_true(TS_ULP_EXP > e && TS_ULP_EXP < e + 2e-4);
    assert_true(TS_ULP_SOFTPLUS > softplus && TS_ULP_SOFTPLUS < softplus + 2e-4);
    free(want);
    free(have);
    cJSON_Delete(json);
}

static void run(const ts_sweep_function *f, ts_sweep *s)
{
    assert_int_equal(ts_sweep_run(f, 1048573, false, s, NULL), TS_OK);
}

/* exp with one result in a thousand 2 ulp up, and a zero of the wrong sign below -104. */
static void spoilt_exp(const float *x, float *y, int64_t n)
{
    ts_sweep_find("exp_cr")->apply(x, y, n);
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] > 1.0f && x[i] < 2.0f ? nextafterf(nextafterf(y[i], INFINITY), INFINITY) : y[i];
}

static void negative_zero(const float *x, float *y, int64_t n)
{
    ts_sweep_find("exp_cr")->apply(x, y, n);
    for (int64_t i = 0; i < n; i++)
        y[i] = y[i] > 0 ? y[i] : -y[i];
}

static double coarse_exp(double x)
{
    float y = (float)exp(x);
    return (double)y;
}

/* The sweep sees what it is there to see. */
static void planted(void **state)
{
    (void)state;
    ts_sweep s;
    ts_error err = {0};
    ts_sweep_function f = *ts_sweep_find("exp_cr");
    run(&f, &s);
    assert_true(ts_sweep_good(&f, &s));
    f.apply = spoilt_exp;
    run(&f, &s);
    assert_true(!ts_sweep_good(&f, &s) && s.range[0].off[2] > 0 && s.range[0].distance == 2);
    f.apply = negative_zero;
    run(&f, &s);
    assert_true(!ts_sweep_good(&f, &s) && s.range[0].wrong > 0);
    f = *ts_sweep_find("exp_cr");
    f.op = TS_OP_SILU; /* ref32's silu and its schedule, judged as exp */
    run(&f, &s);
    assert_true(!ts_sweep_good(&f, &s) && s.unequal == 0 && s.range[0].more > 0);
    f = *ts_sweep_find("exp_cr");
    f.truth = coarse_exp;
    assert_int_equal(ts_sweep_run(&f, 6151, false, &s, &err), TS_BAD);
    assert_non_null(strstr(err.reason, "too much for a filter"));
}

/* A tie is decided as IEEE 754 does, and counted: of the f32 between two bf16, one in 65536. */
static void ties(void **state)
{
    (void)state;
    ts_sweep s;
    assert_int_equal(ts_sweep_run(ts_sweep_find("f32_to_bf16"), 1 << 15, false, &s, NULL), TS_OK);
    assert_int_equal(s.inputs, 1 << 17);
    assert_int_equal(s.ties, 65536 - 256); /* the exponent of NaN has none */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strided),
        cmocka_unit_test(counts),
        cmocka_unit_test(recorded_values),
        cmocka_unit_test(header_is_the_record),
        cmocka_unit_test(bounds_hold_at_the_worst),
        cmocka_unit_test(planted),
        cmocka_unit_test(ties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
