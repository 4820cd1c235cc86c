/* exp, sigmoid, silu, softplus, rsqrt of ref32 over a strided sample of all
 * floats, with libm's double functions as the witness, and at their edges. */
#include "call.h"

enum { BLOCK = 4096 };

static int64_t ordinal(float x)
{
    int64_t magnitude = (int64_t)(ts_bits(x) & 0x7fffffffu);
    return signbit(x) ? -magnitude : magnitude;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double silu(double x)
{
    return x / (1 + exp(-x));
}

static double softplus(double x)
{
    return x > 20 ? x : log1p(exp(x));
}

static double rsqrt(double x)
{
    return 1 / sqrt(x);
}

typedef struct {
    int64_t worst, count;
    float at;
} tally;

static void look(tally *t, float x, float y, double exact)
{
    float right = (float)exact;
    if (isnan(right) || isnan(y)) {
        assert_true(isnan(right) && isnan(y));
        return;
    }
    int64_t d = llabs(ordinal(y) - ordinal(right));
    t->count++;
    if (d > t->worst) {
        t->worst = d;
        t->at = x;
    }
}

/* Every 1021st float (1021 is odd, so the walk meets every exponent and every low bit) that lies in lo..hi. */
static tally sweep(ts_op_id id, double (*exact)(double), float lo, float hi)
{
    tally t = {0};
    float x[BLOCK], y[BLOCK];
    uint32_t u = 0;
    for (int64_t left = (1LL << 32) / 1021; left > 0;) {
        ts_map_args a = {.x = x, .y = y};
        for (; a.n < BLOCK && left > 0; left--, u += 1021) {
            float v = ts_float(u);
            if (!(v < lo) && !(v > hi))
                x[a.n++] = v;
        }
        ts_ref32.op(id, &a);
        for (int64_t i = 0; i < a.n; i++)
            look(&t, x[i], y[i], exact((double)x[i]));
    }
    print_message("%-8s in [%g, %g]: %lld values, worst %lld ulp, at %a\n", ts_op_table[id].name, (double)lo,
                  (double)hi, (long long)t.count, (long long)t.worst, (double)t.at);
    return t;
}

static void exp_everywhere(void **state)
{
    (void)state;
    assert_true(sweep(TS_OP_EXP, exp, -INFINITY, INFINITY).worst <= 1);
}

static void softplus_everywhere(void **state)
{
    (void)state;
    assert_true(sweep(TS_OP_SOFTPLUS, softplus, -INFINITY, INFINITY).worst <= 1);
}

static void rsqrt_everywhere(void **state)
{
    (void)state;
    assert_true(sweep(TS_OP_RSQRT, rsqrt, -INFINITY, INFINITY).worst <= 1);
}

/* Compositions of exp, a sum and a quotient as the contract writes them, so 2 ulp. Below -88.72 exp(-x)
 * overflows and they are zero: compositions_underflow. */
static void compositions_everywhere(void **state)
{
    (void)state;
    assert_true(sweep(TS_OP_SIGMOID, sigmoid, -88.72f, INFINITY).worst <= 2);
    assert_true(sweep(TS_OP_SILU, silu, -88.72f, INFINITY).worst <= 2);
}

static float at32(ts_op_id id, float x)
{
    float y = 7;
    ts_map_args a = {.n = 1, .x = &x, .y = &y};
    ts_ref32.op(id, &a);
    return y;
}

static double at64(ts_op_id id, double x)
{
    double y = 7;
    ts_map_args a = {.n = 1, .x = ts_f64(&x), .y = ts_f64(&y)};
    ts_ref64.op(id, &a);
    return y;
}

static void expect32(ts_op_id id, float x, float y)
{
    float got = at32(id, x);
    same_bits(&got, &y, 1);
}

static void special_values(void **state)
{
    (void)state;
    const float nan = ts_float(0x7fc00123u), tiny = ts_float(1);
    for (ts_op_id id = TS_OP_EXP; id <= TS_OP_RSQRT; id++)
        assert_true(isnan(at32(id, nan)));
    expect32(TS_OP_EXP, INFINITY, INFINITY);
    expect32(TS_OP_EXP, -INFINITY, 0.0f);
    expect32(TS_OP_EXP, 0.0f, 1.0f);
    expect32(TS_OP_EXP, -0.0f, 1.0f);
    expect32(TS_OP_EXP, tiny, 1.0f);
    expect32(TS_OP_EXP, -105.0f, 0.0f);
    expect32(TS_OP_EXP, 89.0f, INFINITY);
    expect32(TS_OP_SOFTPLUS, INFINITY, INFINITY);
    expect32(TS_OP_SOFTPLUS, -INFINITY, 0.0f);
    expect32(TS_OP_SOFTPLUS, 0.0f, 0x1.62e43p-1f);
    expect32(TS_OP_SOFTPLUS, -0.0f, 0x1.62e43p-1f);
    expect32(TS_OP_SOFTPLUS, 0x1.400002p+4f, 0x1.400002p+4f);
    expect32(TS_OP_RSQRT, 0.0f, INFINITY);
    expect32(TS_OP_RSQRT, -0.0f, -INFINITY);
    expect32(TS_OP_RSQRT, INFINITY, 0.0f);
    assert_true(isnan(at32(TS_OP_RSQRT, -1.0f)));
}

static void compositions_underflow(void **state)
{
    (void)state;
    expect32(TS_OP_SIGMOID, 0.0f, 0.5f);
    expect32(TS_OP_SIGMOID, INFINITY, 1.0f);
    expect32(TS_OP_SIGMOID, -89.0f, 0.0f);
    expect32(TS_OP_SIGMOID, -INFINITY, 0.0f);
    expect32(TS_OP_SILU, 0.0f, 0.0f);
    expect32(TS_OP_SILU, -0.0f, -0.0f);
    expect32(TS_OP_SILU, -89.0f, -0.0f);
    expect32(TS_OP_SILU, INFINITY, INFINITY);
    assert_true(isnan(at32(TS_OP_SILU, -INFINITY)));
}

/* 4000 neighbouring floats around `centre` map to values in order. */
static void rises(ts_op_id id, float centre)
{
    uint32_t u = ts_bits(centre);
    float last = at32(id, ts_float(u - 2000));
    for (int i = -1999; i <= 2000; i++) {
        float y = at32(id, ts_float(u + (uint32_t)i));
        assert_true(centre > 0 ? y >= last : y <= last);
        last = y;
    }
}

static void edges_in_order(void **state)
{
    (void)state;
    rises(TS_OP_EXP, 0x1.62e43p+6f);     /* overflow */
    rises(TS_OP_EXP, -0x1.5d589p+6f);    /* the smallest normal */
    rises(TS_OP_EXP, -0x1.9fe368p+6f);   /* the smallest subnormal and +0 */
    rises(TS_OP_SOFTPLUS, 20.0f);
    rises(TS_OP_SOFTPLUS, -15.0f);
    rises(TS_OP_SOFTPLUS, -0x1.9fe368p+6f);
}

static void ref64_is_libm(void **state)
{
    (void)state;
    for (double x = -110; x < 110; x += 0.37) {
        assert_true(at64(TS_OP_EXP, x) == exp(x));
        assert_true(at64(TS_OP_SOFTPLUS, x) == softplus(x));
        assert_true(at64(TS_OP_SIGMOID, x) == sigmoid(x));
        assert_true(at64(TS_OP_SILU, x) == silu(x));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_everywhere),
        cmocka_unit_test(softplus_everywhere),
        cmocka_unit_test(rsqrt_everywhere),
        cmocka_unit_test(compositions_everywhere),
        cmocka_unit_test(special_values),
        cmocka_unit_test(compositions_underflow),
        cmocka_unit_test(edges_in_order),
        cmocka_unit_test(ref64_is_libm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
