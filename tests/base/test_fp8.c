/* FP8: every code, every bf16 number, every midpoint, against the definition of the formats. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "num/convert.h"

typedef struct {
    int bits, bias, largest; /* of mantissa; code of the largest finite value */
    float (*widen)(uint8_t c);
    uint8_t (*narrow)(float x);
} format;

static const format formats[] = {{3, 7, 0x7e, ts_e4m3_to_f32, ts_f32_to_e4m3},
                                 {2, 15, 0x7b, ts_e5m2_to_f32, ts_f32_to_e5m2}};

/* Of a code without its sign, as if none stood for infinity or NaN. */
static double value(const format *f, int code)
{
    int exponent = code >> f->bits, one = 1 << f->bits, mantissa = code % one + (exponent > 0 ? one : 0);
    return ldexp(mantissa, (exponent > 0 ? exponent : 1) - f->bias - f->bits);
}

static void every_code_widens_and_returns(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        for (int c = 0; c < 256; c++) {
            const format *f = &formats[i];
            float x = f->widen((uint8_t)c);
            int code = c & 0x7f, back = f->narrow(x);
            assert_true(!signbit(x) == (c < 128));
            if (code <= f->largest)
                assert_true(fabs((double)x) == value(f, code) && back == c);
            else if (i == 1 && code == 0x7c)
                assert_true(isinf(x) && back == (c & 0x80) + f->largest);
            else
                assert_true(isnan(x) && back == (c | 0x7f));
        }
    assert_true(ts_e4m3_to_f32(0x7e) == TS_E4M3_MAX && ts_e5m2_to_f32(0x7b) == TS_E5M2_MAX);
}

/* By search: the nearest of all finite values, of two equally near ones that with the even code. */
static int nearest(const format *f, double x)
{
    int best = 0;
    x = fmin(x, value(f, f->largest));
    for (int c = 1; c <= f->largest; c++) {
        double now = fabs(value(f, c) - x), before = fabs(value(f, best) - x);
        if (now < before || (now == before && c % 2 == 0))
            best = c;
    }
    return best;
}

static void every_bf16_goes_to_the_nearest(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        for (int h = 0; h < 0x10000; h++) {
            float x = ts_bf16_to_f32((uint16_t)h);
            int sign = h >> 8 & 0x80, want = isnan(x)   ? 0x7f
                                             : isinf(x) ? formats[i].largest
                                                        : nearest(&formats[i], fabs((double)x));
            assert_int_equal(formats[i].narrow(x), sign | want);
        }
}

/* Between neighbours: the midpoint, and an f32 ulp to either side. */
static void midpoints_go_to_even(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        for (int c = 0; c < formats[i].largest; c++) {
            const format *f = &formats[i];
            float mid = (float)((value(f, c) + value(f, c + 1)) / 2);
            int even = c % 2 ? c + 1 : c;
            assert_int_equal(f->narrow(mid), even);
            assert_int_equal(f->narrow(-mid), 0x80 | even);
            assert_int_equal(f->narrow(nextafterf(mid, 0)), c);
            assert_int_equal(f->narrow(nextafterf(mid, INFINITY)), c + 1);
        }
}

/* 464 and 61440 would be the midpoints to the next power: all above is the largest. */
static void beyond_the_largest(void **state)
{
    (void)state;
    static const float e4m3[] = {448, 463.99f, 464, 465, 512, 1e30f, INFINITY};
    static const float e5m2[] = {57344, 61439, 61440, 65504, 65536, 1e30f, INFINITY};
    for (int i = 0; i < 7; i++) {
        assert_int_equal(ts_f32_to_e4m3(e4m3[i]), 0x7e);
        assert_int_equal(ts_f32_to_e4m3(-e4m3[i]), 0xfe);
        assert_int_equal(ts_f32_to_e5m2(e5m2[i]), 0x7b);
        assert_int_equal(ts_f32_to_e5m2(-e5m2[i]), 0xfb);
    }
    assert_int_equal(ts_f32_to_e4m3(-0.0f), 0x80);
    assert_int_equal(ts_f32_to_e5m2(0x1p-149f), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_widens_and_returns),
        cmocka_unit_test(every_bf16_goes_to_the_nearest),
        cmocka_unit_test(midpoints_go_to_even),
        cmocka_unit_test(beyond_the_largest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
