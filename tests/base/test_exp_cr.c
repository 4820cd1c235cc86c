/* exp_cr against MPFR: the correctly rounded f32, nothing less, from a double within 0.6 ulp. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <cjson/cJSON.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num/exp_cr.h"
#include "format/json.h"
#include "num/philox.h"

static float f32_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Error of the double in its ulp; scratch[0] holds exp(x). */
static double ulp_error(double got, mpfr_t scratch[2])
{
    int exponent;
    frexp(got, &exponent);
    mpfr_sub_d(scratch[1], scratch[0], got, MPFR_RNDN);
    mpfr_mul_2si(scratch[1], scratch[1], 53 - exponent, MPFR_RNDN);
    return fabs(mpfr_get_d(scratch[1], MPFR_RNDN));
}

static void check(float x, mpfr_t scratch[2])
{
    mpfr_set_flt(scratch[0], x, MPFR_RNDN);
    mpfr_exp(scratch[0], scratch[0], MPFR_RNDN);
    float want = mpfr_get_flt(scratch[0], MPFR_RNDN), got = ts_exp_cr(x);
    if (bits_of_f32(got) != bits_of_f32(want))
        fail_msg("exp(%a) = %a, want %a", (double)x, (double)got, (double)want);
    if (got <= 0.0f || isinf(got))
        return;
    double error = ulp_error(ts_exp_unrounded(x), scratch);
    if (!(error < 0.6))
        fail_msg("exp(%a) in double is %g ulp off", (double)x, error);
}

static void check_all(const float *x, size_t n)
{
    mpfr_t scratch[2];
    mpfr_inits2(120, scratch[0], scratch[1], (mpfr_ptr)0);
    for (size_t i = 0; i < n; i++)
        check(x[i], scratch);
    mpfr_clears(scratch[0], scratch[1], (mpfr_ptr)0);
}

/* Half of them even over [-104.5,0], half of either sign with exponents from 2^-30 to 2^6 alike. */
static void test_million(void **state)
{
    (void)state;
    enum { N = 1000000 };
    float *x = malloc(N * sizeof *x);
    assert_non_null(x);
    for (uint64_t i = 0; i < N; i += 2) {
        float size = ldexpf(1.0f + (float)ts_uniform(8, i, TS_DRAW_INPUT), (int)(i / 2 % 37) - 30);
        x[i] = (float)(ts_uniform(7, i, TS_DRAW_INPUT) * -104.5);
        x[i + 1] = i % 4 ? size : -size;
    }
    check_all(x, N);
    free(x);
}

/* The f32 inputs whose exponential lies within 2^-51 of a tie, from a sweep of all of them, then the
 * ends of the subnormal and of the finite range. */
static void test_hardest(void **state)
{
    (void)state;
    static const uint32_t bits[] = {
        0xbae0e25c, 0xbbf0edf1, 0xc16912cd, 0x33800000, 0xb3800000, 0x33000000, 0xb3000000, 0xb2800000,
        0x00000001, 0x80000001, 0xc2aeac4f, 0xc2aeac50, 0xc2ce8ecf, 0xc2ce8ed0, 0xc2cff1b4, 0xc2cff1b5,
        0xc2d00000, 0xc2d00001, 0x42b17217, 0x42b17218, 0x42b20000, 0x42b20001, 0x3eb17218, 0xbeb17218,
    };
    float x[sizeof bits / sizeof *bits];
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        x[i] = f32_of_bits(bits[i]);
    check_all(x, sizeof bits / sizeof *bits);
}

static void test_special(void **state)
{
    (void)state;
    assert_int_equal(bits_of_f32(ts_exp_cr(0.0f)), 0x3f800000);
    assert_int_equal(bits_of_f32(ts_exp_cr(-0.0f)), 0x3f800000);
    assert_int_equal(bits_of_f32(ts_exp_cr(-INFINITY)), 0);
    assert_int_equal(bits_of_f32(ts_exp_cr(-3e38f)), 0);
    assert_int_equal(bits_of_f32(ts_exp_cr(INFINITY)), 0x7f800000);
    assert_int_equal(bits_of_f32(ts_exp_cr(3e38f)), 0x7f800000);
    assert_true(isnan(ts_exp_cr(NAN)));
}

static float f32_of_hex(const cJSON *hex)
{
    assert_true(cJSON_IsString(hex));
    return f32_of_bits((uint32_t)strtoul(hex->valuestring, NULL, 16));
}

/* Every weight of the goldens is exp_cr of what its candidate's logit says (cases without penalties). */
static void test_golden_weights(void **state)
{
    (void)state;
    cJSON *root = NULL, *c;
    assert_int_equal(ts_json_load("golden/external/sampler.json", &root, NULL), TS_OK);
    int checked = 0;
    cJSON_ArrayForEach (c, cJSON_GetObjectItem(root, "cases")) {
        const cJSON *result = cJSON_GetObjectItem(c, "result"), *logits = cJSON_GetObjectItem(c, "logits_hex");
        const cJSON *weights = cJSON_GetObjectItem(result, "weights_hex"),
                    *ids = cJSON_GetObjectItem(result, "candidates");
        if (!weights || cJSON_GetObjectItem(result, "logits_after_penalties_hex"))
            continue;
        float inv_t = 1.0f / f32_of_hex(cJSON_GetObjectItem(c, "temperature_hex"));
        float zmax = f32_of_hex(cJSON_GetArrayItem(logits, cJSON_GetArrayItem(ids, 0)->valueint));
        for (int i = 0; i < cJSON_GetArraySize(ids); i++, checked++) {
            float z = f32_of_hex(cJSON_GetArrayItem(logits, cJSON_GetArrayItem(ids, i)->valueint));
            float want = f32_of_hex(cJSON_GetArrayItem(weights, i));
            assert_int_equal(bits_of_f32(ts_exp_cr((z - zmax) * inv_t)), bits_of_f32(want));
        }
    }
    assert_true(checked > 300);
    cJSON_Delete(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_special),
        cmocka_unit_test(test_hardest),
        cmocka_unit_test(test_golden_weights),
        cmocka_unit_test(test_million),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
