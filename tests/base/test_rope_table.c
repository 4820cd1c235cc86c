#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <string.h>

#include "num/philox.h"
#include "num/rope_table.h"

/* MPFR at 200 bits is the witness: it shares no code with the tables. */
enum { BITS = 200, MAX_HALF = 64, SMALL_POSITIONS = 301, SPREAD = 100 };
static const int64_t last_position = ((int64_t)1 << 24) - 1;

static const double thetas[] = {1e4, 1e6, 1e7, 5e6, 10000.5};
static const int64_t widths[] = {2, 8, 12, 16, 64, 128};
enum { THETAS = sizeof thetas / sizeof thetas[0], WIDTHS = sizeof widths / sizeof widths[0] };

static int same32(float x, float y)
{
    return memcmp(&x, &y, sizeof x) == 0;
}

static int same64(double x, double y)
{
    return memcmp(&x, &y, sizeof x) == 0;
}

static double witness_inv_freq(double theta, int64_t R, int64_t i)
{
    mpfr_t base, exponent;
    mpfr_init2(base, BITS);
    mpfr_init2(exponent, BITS);
    mpfr_set_d(base, theta, MPFR_RNDN);
    mpfr_set_si(exponent, (long)(-2 * i), MPFR_RNDN);
    mpfr_div_si(exponent, exponent, (long)R, MPFR_RNDN);
    mpfr_pow(base, base, exponent, MPFR_RNDN);
    double x = mpfr_get_d(base, MPFR_RNDN);
    mpfr_clear(base);
    mpfr_clear(exponent);
    return x;
}

static void inverse_frequencies(void **state)
{
    (void)state;
    static const double more[] = {1, 1.5, 2, 16, 500000, 1e8, 1e15, 0x1p100, 0.01};
    enum { MORE = sizeof more / sizeof more[0] };
    double inv_freq[MAX_HALF];
    for (int a = 0; a < THETAS + MORE; a++)
        for (int b = 0; b < WIDTHS; b++) {
            double theta = a < THETAS ? thetas[a] : more[a - THETAS];
            ts_rope_inv_freq(theta, widths[b], inv_freq);
            for (int64_t i = 0; i < widths[b] / 2; i++)
                assert_true(same64(inv_freq[i], witness_inv_freq(theta, widths[b], i)));
        }
}

/* theta^(-1/2) for theta = 4^j (1 - a 2^-52), a odd, is 2^-j (1 + a 2^-53 + 1.5 a^2 2^-106 ...):
 * a tie of double, but for the last term. It starts at 2^-93 of the result. */
static void inverse_frequencies_next_to_ties(void **state)
{
    (void)state;
    double inv_freq[2];
    for (int j = -20; j <= 20; j++)
        for (int64_t a = 1 << 6; a < 1 << 24; a *= 2) {
            double theta = ldexp(1 - (double)(a + 1) * 0x1p-52, 2 * j);
            ts_rope_inv_freq(theta, 4, inv_freq);
            assert_true(same64(inv_freq[1], witness_inv_freq(theta, 4, 1)));
        }
}

/* Entries of one row that are not the witness's, in either precision. */
static int wrong_entries(const double *inv_freq, int64_t R, int64_t pos)
{
    float c32[MAX_HALF], s32[MAX_HALF];
    double c64[MAX_HALF], s64[MAX_HALF];
    ts_rope_row_f32(inv_freq, R, pos, c32, s32);
    ts_rope_row_f64(inv_freq, R, pos, c64, s64);
    mpfr_t x, c, s;
    mpfr_init2(x, BITS);
    mpfr_init2(c, BITS);
    mpfr_init2(s, BITS);
    int wrong = 0;
    for (int64_t i = 0; i < R / 2; i++) {
        mpfr_set_d(x, (double)pos * inv_freq[i], MPFR_RNDN);
        mpfr_sin_cos(s, c, x, MPFR_RNDN);
        wrong += !same32(c32[i], mpfr_get_flt(c, MPFR_RNDN)) + !same32(s32[i], mpfr_get_flt(s, MPFR_RNDN));
        wrong += !same64(c64[i], mpfr_get_d(c, MPFR_RNDN)) + !same64(s64[i], mpfr_get_d(s, MPFR_RNDN));
    }
    mpfr_clear(x);
    mpfr_clear(c);
    mpfr_clear(s);
    return wrong;
}

static void rows_of(const int64_t *pos, int count)
{
    double inv_freq[MAX_HALF];
    for (int a = 0; a < THETAS; a++)
        for (int b = 0; b < WIDTHS; b++) {
            ts_rope_inv_freq(thetas[a], widths[b], inv_freq);
            for (int i = 0; i < count; i++)
                assert_int_equal(wrong_entries(inv_freq, widths[b], pos[i]), 0);
        }
}

static void small_positions(void **state)
{
    (void)state;
    int64_t pos[SMALL_POSITIONS];
    for (int i = 0; i < SMALL_POSITIONS; i++)
        pos[i] = i;
    rows_of(pos, SMALL_POSITIONS);
}

static void positions_up_to_the_last(void **state)
{
    (void)state;
    int64_t pos[SPREAD];
    pos[0] = last_position;
    for (int i = 1; i < SPREAD; i++)
        pos[i] = (int64_t)(ts_uniform(20, (uint64_t)i, TS_DRAW_INPUT) * 0x1p24);
    rows_of(pos, SPREAD);
}

/* At position 1 the angle is the inverse frequency itself: any double can be tried. */
static void expect_angle(double angle)
{
    int wrong = wrong_entries(&angle, 2, 1);
    if (wrong)
        print_error("angle %a: %d of 4 values are wrong\n", angle, wrong);
    assert_int_equal(wrong, 0);
}

/* The doubles nearest to k pi/2, where all leading bits cancel. */
static void angles_next_to_multiples_of_half_pi(void **state)
{
    (void)state;
    mpfr_t half_pi, x;
    mpfr_init2(half_pi, BITS);
    mpfr_init2(x, BITS);
    mpfr_const_pi(half_pi, MPFR_RNDN);
    mpfr_div_ui(half_pi, half_pi, 2, MPFR_RNDN);
    for (unsigned long k = 1; k < (unsigned long)1 << 51; k += 1 + k / 64) {
        mpfr_mul_ui(x, half_pi, k, MPFR_RNDN);
        expect_angle(mpfr_get_d(x, MPFR_RNDN));
        mpfr_mul_d(x, half_pi, (double)k + 0.5, MPFR_RNDN);
        expect_angle(mpfr_get_d(x, MPFR_RNDN));
    }
    mpfr_clear(half_pi);
    mpfr_clear(x);
}

/* sin x is a hair below x: rounding first to double would land on a tie of f32.
 * (Below 2^-95 the hair is too thin for the witness's 200 bits.) */
static void f32_is_rounded_once(void **state)
{
    (void)state;
    for (int e = -20; e >= -90; e--)
        for (int odd = 1; odd < 64; odd += 2)
            expect_angle(ldexp(1 + odd * 0x1p-24, e));
    double tie = 0x1p-30 * (1 + 0x1p-23 + 0x1p-24);
    float c, s;
    ts_rope_row_f32(&tie, 2, 1, &c, &s);
    assert_true(same32(s, 0x1p-30f * (1 + 0x1p-23f)));
    assert_false(same32(s, (float)tie));
}

static void angles_out_of_range_are_nan(void **state)
{
    (void)state;
    double angle = 0x1p52, c, s;
    ts_rope_row_f64(&angle, 2, 1, &c, &s);
    assert_true(isnan(c) && isnan(s));
    angle = (double)INFINITY;
    ts_rope_row_f64(&angle, 2, 1, &c, &s);
    assert_true(isnan(c) && isnan(s));
}

static int free_witness(void **state)
{
    (void)state;
    mpfr_free_cache();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inverse_frequencies),
        cmocka_unit_test(inverse_frequencies_next_to_ties),
        cmocka_unit_test(small_positions),
        cmocka_unit_test(positions_up_to_the_last),
        cmocka_unit_test(angles_next_to_multiples_of_half_pi),
        cmocka_unit_test(f32_is_rounded_once),
        cmocka_unit_test(angles_out_of_range_are_nan),
    };
    return cmocka_run_group_tests(tests, NULL, free_witness);
}
