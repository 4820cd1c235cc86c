#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fenv.h>
#include <string.h>
#include <xmmintrin.h>

#include "num/canary.h"

/* Bits of MXCSR, the control word of SSE and AVX. */
enum { DAZ = 0x0040, ROUND_DOWN = 0x2000, ROUND_UP = 0x4000, ROUND_ZERO = 0x6000, FTZ = 0x8000 };

static void a_good_machine_passes(void **state)
{
    (void)state;
    ts_error err;
    assert_int_equal(ts_canaries(&err), TS_OK);
    assert_int_equal(ts_canaries(NULL), TS_OK);
}

/* The canary that dies when these bits are set. */
static void expect_death(unsigned bits, const char *name)
{
    ts_error err = {.file = "", .tensor = "", .reason = ""};
    unsigned saved = _mm_getcsr();
    _mm_setcsr(saved | bits);
    ts_status status = ts_canaries(&err);
    _mm_setcsr(saved);
    assert_int_equal(status, TS_BAD);
    assert_string_equal(err.tensor, name);
    assert_true(strlen(err.reason) > 20);
}

static void flushing_is_found(void **state)
{
    (void)state;
    expect_death(FTZ, "flush to zero");
    expect_death(DAZ, "denormals are zero");
}

/* glibc's fegetround does not see these: the sums themselves must tell. */
static void sums_find_other_roundings(void **state)
{
    (void)state;
    expect_death(ROUND_DOWN, "f32 rounding");
    expect_death(ROUND_UP, "f32 rounding");
    expect_death(ROUND_ZERO, "f32 rounding");
}

static void other_rounding_modes_are_found(void **state)
{
    (void)state;
    static const int mode[] = {FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    for (size_t i = 0; i < sizeof mode / sizeof mode[0]; i++) {
        ts_error err;
        assert_int_equal(fesetround(mode[i]), 0);
        ts_status status = ts_canaries(&err);
        assert_int_equal(fesetround(FE_TONEAREST), 0);
        assert_int_equal(status, TS_BAD);
        assert_string_equal(err.tensor, "rounding mode");
    }
    assert_int_equal(ts_canaries(NULL), TS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_machine_passes),
        cmocka_unit_test(flushing_is_found),
        cmocka_unit_test(sums_find_other_roundings),
        cmocka_unit_test(other_rounding_modes_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
