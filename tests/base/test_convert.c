#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "num/convert.h"
#include "num/philox.h"

/* The two formats, from the definition of a binary float: (-1)^s 1.m 2^(e-bias). */
typedef struct {
    int mantissa_bits, bias;
    uint16_t infinity;
    float (*widen)(uint16_t h);
    uint16_t (*narrow)(float x);
    uint16_t (*narrow_double)(double x);
} format;

static float widen_bf16(uint16_t h)
{
    return ts_bf16_to_f32(h);
}

static const format bf16 = {7, 127, 0x7f80, widen_bf16, ts_f32_to_bf16, ts_f64_to_bf16};
static const format f16 = {10, 15, 0x7c00, ts_f16_to_f32, ts_f32_to_f16, ts_f64_to_f16};

/* The value of a pattern. Infinity counts as the next power of two, so that the
 * edge of overflow is the midpoint of the last pair. */
static double value(const format *f, uint16_t h)
{
    int exponent = (h & 0x7fff) >> f->mantissa_bits, one = 1 << f->mantissa_bits;
    int mantissa = h & (one - 1);
    if (exponent > 0)
        mantissa += one;
    double x = ldexp(mantissa, (exponent ? exponent : 1) - f->bias - f->mantissa_bits);
    return h & 0x8000 ? -x : x;
}

/* The nearest pattern, through rint (to nearest even) in units of the last place. */
static uint16_t nearest(const format *f, double x)
{
    double a = fabs(x);
    int exponent = a > 0 ? ilogb(a) : 0;
    if (exponent < 1 - f->bias)
        exponent = 1 - f->bias;
    int scale = exponent - f->mantissa_bits;
    double units = a < ldexp(1, f->bias + 1) ? rint(ldexp(a, -scale)) : ldexp(2, f->mantissa_bits + 40);
    double biased = units + ldexp(exponent + f->bias - 1, f->mantissa_bits);
    uint16_t h = biased < f->infinity ? (uint16_t)biased : f->infinity;
    return (uint16_t)(signbit(x) ? h | 0x8000 : h);
}

static void check_widening(const format *f)
{
    for (uint32_t u = 0; u < 0x10000; u++) {
        uint16_t h = (uint16_t)u;
        float x = f->widen(h);
        if ((h & 0x7fff) > f->infinity) {
            assert_true(isnan(x));
            assert_int_equal(ts_bits(x) >> 31, h >> 15);
            assert_int_equal(ts_bits(x) & 0x7fffff, (uint32_t)(h & (f->infinity ^ 0x7fff))
                                                        << (23 - f->mantissa_bits));
            assert_int_equal(f->narrow(x), h | 1 << (f->mantissa_bits - 1));
            continue;
        }
        if ((h & 0x7fff) == f->infinity)
            assert_true(isinf(x) && (x < 0) == (h >> 15));
        else
            assert_true((double)x == value(f, h) && !signbit(x) == !(h >> 15));
        assert_int_equal(f->narrow(x), h);
    }
}

static void every_pattern_widens_and_returns(void **state)
{
    (void)state;
    check_widening(&bf16);
    check_widening(&f16);
}

/* Between every two neighbours: the midpoint, and one f32 ulp to either side. */
static void check_midpoints(const format *f)
{
    for (uint16_t h = 0; h < f->infinity; h++) {
        uint16_t above = (uint16_t)(h + 1);
        float mid = (float)((value(f, h) + value(f, above)) / 2);
        assert_true((double)mid == (value(f, h) + value(f, above)) / 2);
        assert_int_equal(f->narrow(mid), h & 1 ? above : h);
        assert_int_equal(f->narrow(nextafterf(mid, 0)), h);
        assert_int_equal(f->narrow(nextafterf(mid, INFINITY)), above);
        assert_int_equal(f->narrow(-mid), 0x8000 | (h & 1 ? above : h));
        assert_int_equal(f->narrow(-nextafterf(mid, 0)), 0x8000 | h);
        assert_int_equal(f->narrow(-nextafterf(mid, INFINITY)), 0x8000 | above);
    }
}

static void midpoints_go_to_even(void **state)
{
    (void)state;
    check_midpoints(&bf16);
    check_midpoints(&f16);
}

static void overflow_gives_infinity(void **state)
{
    (void)state;
    assert_int_equal(ts_f32_to_f16(65504), 0x7bff);
    assert_int_equal(ts_f32_to_f16(65519.996f), 0x7bff);
    assert_int_equal(ts_f32_to_f16(65520), 0x7c00);
    assert_int_equal(ts_f32_to_f16(-65520), 0xfc00);
    assert_int_equal(ts_f32_to_f16(0x1.fffffep127f), 0x7c00);
    assert_int_equal(ts_f32_to_bf16(0x1.fep127f), 0x7f7f);
    assert_int_equal(ts_f32_to_bf16(0x1.fefffep127f), 0x7f7f);
    assert_int_equal(ts_f32_to_bf16(0x1.ffp127f), 0x7f80);
    assert_int_equal(ts_f32_to_bf16(-0x1.fffffep127f), 0xff80);
    assert_int_equal(ts_f64_to_bf16(0x1.feffffffffp127), 0x7f7f);
    assert_int_equal(ts_f64_to_bf16(0x1.ffp127), 0x7f80);
    assert_int_equal(ts_f64_to_bf16(-0x1p1000), 0xff80);
    assert_int_equal(ts_f64_to_bf16((double)INFINITY), 0x7f80);
    assert_int_equal(ts_f64_to_f16(-0x1p1000), 0xfc00);
    assert_int_equal(ts_f64_to_f16((double)INFINITY), 0x7c00);
}

static void a_nan_stays_a_nan(void **state)
{
    (void)state;
    for (int bit = 0; bit < 23; bit++)
        for (uint32_t sign = 0; sign < 2; sign++) {
            float x = ts_float(sign << 31 | 0x7f800000 | (uint32_t)1 << bit);
            assert_int_equal(ts_f32_to_bf16(x), sign << 15 | 0x7fc0 | (uint32_t)1 << bit >> 16);
            assert_int_equal(ts_f32_to_f16(x), sign << 15 | 0x7e00 | (uint32_t)1 << bit >> 13);
        }
    assert_int_equal(ts_f32_to_bf16(ts_float(0x7fffffff)), 0x7fff);
    assert_int_equal(ts_f32_to_f16(ts_float(0xffffffff)), 0xffff);
    for (int bit = 0; bit < 52; bit++) {
        uint64_t u = (uint64_t)0xfff << 52 | (uint64_t)1 << bit;
        double x;
        memcpy(&x, &u, sizeof x);
        assert_int_equal(ts_f64_to_bf16(x), 0xffc0 | (uint64_t)1 << bit >> 45);
        assert_int_equal(ts_f64_to_f16(x), 0xfe00 | (uint64_t)1 << bit >> 42);
    }
}

/* A detour through f32 would pull the neighbours of a midpoint onto it. */
static void check_double(const format *f)
{
    for (uint16_t h = 0; h < f->infinity; h++) {
        uint16_t above = (uint16_t)(h + 1), even = h & 1 ? above : h;
        double mid = (value(f, h) + value(f, above)) / 2;
        assert_int_equal(f->narrow_double(value(f, h)), h);
        assert_int_equal(f->narrow_double(mid), even);
        assert_int_equal(f->narrow_double(nextafter(mid, 0)), h);
        assert_int_equal(f->narrow_double(nextafter(mid, 1e300)), above);
        assert_int_equal(f->narrow_double(-mid), 0x8000 | even);
        assert_int_equal(f->narrow_double(-nextafter(mid, 0)), 0x8000 | h);
        assert_int_equal(f->narrow_double(-nextafter(mid, 1e300)), 0x8000 | above);
    }
    assert_int_equal(f->narrow_double(-0.0), 0x8000);
    assert_int_equal(f->narrow_double(-0x1p-1074), 0x8000);
}

static void double_is_rounded_once(void **state)
{
    (void)state;
    check_double(&bf16);
    check_double(&f16);
}

static void random_patterns_agree_with_the_definition(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 1 << 19; i++) {
        uint32_t counter[4] = {i, 0, 0, 0}, key[2] = {2024, 7}, r[4];
        ts_philox(counter, key, r);
        float x = ts_float(r[0]), small = ts_float((r[1] & 0x8fffffff) | 0x30000000); /* 2^-31 .. 2: f16 */
        double wide = ldexp(1 + r[2] * 0x1p-32 + r[3] * 0x1p-52, (int)(r[0] % 300) - 150);
        double half = ldexp(1 + r[2] * 0x1p-32 + r[3] * 0x1p-52, (int)(r[0] % 45) - 28);
        if (!isnan(x)) {
            assert_int_equal(ts_f32_to_bf16(x), nearest(&bf16, (double)x));
            assert_int_equal(ts_f32_to_f16(x), nearest(&f16, (double)x));
        }
        assert_int_equal(ts_f32_to_f16(small), nearest(&f16, (double)small));
        assert_int_equal(ts_f64_to_bf16(wide), nearest(&bf16, wide));
        assert_int_equal(ts_f64_to_bf16(-wide), nearest(&bf16, -wide));
        assert_int_equal(ts_f64_to_f16(half), nearest(&f16, half));
        assert_int_equal(ts_f64_to_f16(-half), nearest(&f16, -half));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pattern_widens_and_returns),
        cmocka_unit_test(midpoints_go_to_even),
        cmocka_unit_test(overflow_gives_infinity),
        cmocka_unit_test(a_nan_stays_a_nan),
        cmocka_unit_test(double_is_rounded_once),
        cmocka_unit_test(random_patterns_agree_with_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
