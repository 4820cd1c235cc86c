/* exp, sigmoid, silu, softplus, rsqrt of ref32 over a strided sample of all
 * floats, with libm's double functions as the witness, and at their edges. */
#include "call.h"
#include "num/coef.h"

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

/* Every 1021st float (1021 is odd, so the walk meets every exponent and every low bit) that lies in lo..hi.
 */
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
    rises(TS_OP_EXP, 0x1.62e43p+6f);   /* overflow */
    rises(TS_OP_EXP, -0x1.5d589p+6f);  /* the smallest normal */
    rises(TS_OP_EXP, -0x1.9fe368p+6f); /* the smallest subnormal and +0 */
    rises(TS_OP_SOFTPLUS, 20.0f);
    rises(TS_OP_SOFTPLUS, -15.0f);
    rises(TS_OP_SOFTPLUS, -0x1.9fe368p+6f);
}

/* The sequences of docs/contract.md section 4 once more, with its names. */
static float poly(const float *c, int n, float x)
{
    float p = c[0];
    for (int i = 1; i < n; i++)
        p = fmaf(p, x, c[i]);
    return p;
}

static float plain_exp(float x)
{
    if (!(x <= ts_coef_exp_range[1]))
        return x > 0 ? INFINITY : x;
    if (x < ts_coef_exp_range[0])
        return 0;
    float n = rintf(x * ts_coef_log2e);
    float r = fmaf(n, -ts_coef_ln2[1], fmaf(n, -ts_coef_ln2[0], x));
    float square = r * r, t = fmaf(square, poly(ts_coef_exp, 6, r), r), one = 1 + t;
    return ldexpf(one, (int)n);
}

static float plain_softplus(float x)
{
    if (!(x <= ts_coef_softplus[0]))
        return x;
    if (x < ts_coef_exp_range[0])
        return 0;
    const float a = -fabsf(x), n = rintf(a * ts_coef_log2e), r1 = fmaf(n, -ts_coef_ln2[0], a);
    const float r = fmaf(n, -ts_coef_ln2[1], r1), rl = fmaf(n, -ts_coef_ln2[1], r1 - r);
    const float rr = r * r, q = rr * poly(ts_coef_exp, 6, r), t = r + q, tl = (r - t + q) + rl;
    const float h = 1 + t, hl = (1 - h + t) + tl, e = ldexpf(h, (int)n), el = ldexpf(hl, (int)n);
    if (a < ts_coef_softplus[1]) {
        float half = 0.5f * e, square = half * h, low = hl - square, v = ldexpf(h + low, (int)n);
        return x > 0 ? x + v : v;
    }
    const float d = 2 + e, dl = (2 - d + e) + el, s = e / d, m = fmaf(-s, d, e);
    const float sdl = s * dl, sl = (m + el - sdl) / d, z = s * s, cube = s * z;
    const float w = fmaf(cube, poly(ts_coef_atanh, 5, z), sl);
    if (x <= 0)
        return 2 * (s + w);
    const float b = 2 * s, u = x + b, ul = x >= b ? x - u + b : b - u + x, w2 = 2 * w;
    return u + (ul + w2);
}

/* Half of all floats are tiny or huge: take 2 million evenly spaced values in -110..100 and a stride over
 * all. */
static void sequences_to_the_bit(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 3000000; i++) {
        float x = i < 2000000 ? (float)i * (210.0f / 2000000) - 110 : ts_float((uint32_t)i * 4297u);
        float y[2] = {at32(TS_OP_EXP, x), at32(TS_OP_SOFTPLUS, x)}, plain[2] = {plain_exp(x), plain_softplus(x)};
        if (memcmp(y, plain, sizeof y) != 0)
            same_bits(y, plain, 2);
    }
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
        cmocka_unit_test(exp_everywhere),   cmocka_unit_test(softplus_everywhere),
        cmocka_unit_test(rsqrt_everywhere), cmocka_unit_test(compositions_everywhere),
        cmocka_unit_test(special_values),   cmocka_unit_test(compositions_underflow),
        cmocka_unit_test(edges_in_order),   cmocka_unit_test(sequences_to_the_bit),
        cmocka_unit_test(ref64_is_libm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
