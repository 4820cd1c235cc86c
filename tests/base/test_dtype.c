#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "num/dtype.h"

static void the_table_has_the_safetensors_names(void **state)
{
    (void)state;
    static const ts_dtype_info expected[] = {
        {"BOOL", 8},        {"U8", 8},          {"I8", 8},      {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8},
        {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
        {"I32", 32},        {"U32", 32},        {"F32", 32},    {"I64", 64},    {"U64", 64},    {"F64", 64},
        {"C64", 64},        {"F4", 4},          {"F6_E2M3", 6}, {"F6_E3M2", 6},
    };
    assert_int_equal(TS_DTYPE_COUNT, sizeof expected / sizeof expected[0]);
    for (int i = 0; i < TS_DTYPE_COUNT; i++) {
        assert_string_equal(ts_dtype_table[i].name, expected[i].name);
        assert_int_equal(ts_dtype_table[i].bits, expected[i].bits);
        assert_int_equal(ts_dtype_find(expected[i].name), i);
    }
    static const char *const unknown[] = {"", "F3", "f32", "F32 ", "F8_E4M3FNUZX"};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        assert_int_equal(ts_dtype_find(unknown[i]), TS_DTYPE_COUNT);
}

static void counts_elements(void **state)
{
    (void)state;
    ts_tensor t = {.ndim = 0};
    assert_int_equal(ts_tensor_count(&t), 1);
    t = (ts_tensor){.ndim = 3, .dim = {3, 5, 7}};
    assert_int_equal(ts_tensor_count(&t), 105);
    t.dim[1] = 0;
    assert_int_equal(ts_tensor_count(&t), 0);
    t = (ts_tensor){.ndim = 2, .dim = {(int64_t)1 << 20, (int64_t)1 << 20}};
    assert_int_equal(ts_tensor_count(&t), (int64_t)1 << 40);
}

/* Element 1 of two, at every misalignment. */
static double second(ts_dtype dtype, const void *value, size_t bytes)
{
    unsigned char raw[32];
    double got = 0;
    for (size_t shift = 0; shift < 8; shift++) {
        memset(raw, 0xa5, sizeof raw);
        memcpy(raw + shift + bytes, value, bytes);
        ts_tensor t = {.name = "t", .dtype = dtype, .ndim = 1, .dim = {2}, .data = raw + shift, .size = 2 * bytes};
        double x = ts_tensor_get(&t, 1);
        if (shift > 0)
            assert_memory_equal(&x, &got, sizeof x);
        got = x;
    }
    return got;
}

#define SECOND(dtype, type, value) second(dtype, &(type){value}, sizeof(type))

static void widens_every_numeric_type(void **state)
{
    (void)state;
    assert_true(SECOND(TS_BOOL, uint8_t, 1) == 1);
    assert_true(SECOND(TS_BOOL, uint8_t, 0) == 0);
    assert_true(SECOND(TS_U8, uint8_t, 200) == 200);
    assert_true(SECOND(TS_I8, int8_t, -56) == -56);
    assert_true(SECOND(TS_U16, uint16_t, 65535) == 65535);
    assert_true(SECOND(TS_I16, int16_t, -32768) == -32768);
    assert_true(SECOND(TS_F16, uint16_t, 0x3555) == 0x1.554p-2);
    assert_true(SECOND(TS_BF16, uint16_t, 0xc049) == -3.140625);
    assert_true(SECOND(TS_U32, uint32_t, 4294967295) == 4294967295.0);
    assert_true(SECOND(TS_I32, int32_t, -2147483647) == -2147483647.0);
    assert_true(SECOND(TS_F32, float, 0x1.fffffep-3f) == 0x1.fffffep-3);
    assert_true(SECOND(TS_U64, uint64_t, (uint64_t)1 << 63) == 0x1p63);
    assert_true(SECOND(TS_I64, int64_t, -9007199254740991) == -9007199254740991.0);
    assert_true(SECOND(TS_F64, double, 0.1) == 0.1);
}

static void types_only_carried_read_as_nan(void **state)
{
    (void)state;
    static const ts_dtype carried[] = {TS_F8_E5M2, TS_F8_E4M3, TS_F8_E8M0, TS_F8_E4M3FNUZ, TS_F8_E5M2FNUZ,
                                       TS_C64,     TS_F4,      TS_F6_E2M3, TS_F6_E3M2};
    uint64_t zero[2] = {0, 0};
    for (size_t i = 0; i < sizeof carried / sizeof carried[0]; i++) {
        ts_tensor t = {.dtype = carried[i], .ndim = 1, .dim = {2}, .data = zero, .size = sizeof zero};
        assert_true(isnan(ts_tensor_get(&t, 1)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_has_the_safetensors_names),
        cmocka_unit_test(counts_elements),
        cmocka_unit_test(widens_every_numeric_type),
        cmocka_unit_test(types_only_carried_read_as_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
