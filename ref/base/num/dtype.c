#include "num/dtype.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "num/convert.h"

const ts_dtype_info ts_dtype_table[TS_DTYPE_COUNT] = {
    [TS_BOOL] = {"BOOL", 8},
    [TS_U8] = {"U8", 8},
    [TS_I8] = {"I8", 8},
    [TS_F8_E5M2] = {"F8_E5M2", 8},
    [TS_F8_E4M3] = {"F8_E4M3", 8},
    [TS_F8_E8M0] = {"F8_E8M0", 8},
    [TS_F8_E4M3FNUZ] = {"F8_E4M3FNUZ", 8},
    [TS_F8_E5M2FNUZ] = {"F8_E5M2FNUZ", 8},
    [TS_I16] = {"I16", 16},
    [TS_U16] = {"U16", 16},
    [TS_F16] = {"F16", 16},
    [TS_BF16] = {"BF16", 16},
    [TS_I32] = {"I32", 32},
    [TS_U32] = {"U32", 32},
    [TS_F32] = {"F32", 32},
    [TS_I64] = {"I64", 64},
    [TS_U64] = {"U64", 64},
    [TS_F64] = {"F64", 64},
    [TS_C64] = {"C64", 64},
    [TS_F4] = {"F4", 4},
    [TS_F6_E2M3] = {"F6_E2M3", 6},
    [TS_F6_E3M2] = {"F6_E3M2", 6},
};

ts_dtype ts_dtype_find(const char *name)
{
    for (int i = 0; i < TS_DTYPE_COUNT; i++)
        if (strcmp(ts_dtype_table[i].name, name) == 0)
            return (ts_dtype)i;
    return TS_DTYPE_COUNT;
}

int64_t ts_tensor_count(const ts_tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++)
        n *= t->dim[i];
    return n;
}

/* Views point into mapped files, where nothing is aligned: memcpy, never a cast. */
typedef union {
    uint8_t u8;
    int8_t i8;
    uint16_t u16;
    int16_t i16;
    uint32_t u32;
    int32_t i32;
    float f32;
    uint64_t u64;
    int64_t i64;
    double f64;
} element;

double ts_tensor_get(const ts_tensor *t, int64_t i)
{
    element e = {.u64 = 0};
    size_t bytes = (size_t)ts_dtype_table[t->dtype].bits / 8;
    memcpy(&e, (const char *)t->data + (size_t)i * bytes, bytes);
    switch (t->dtype) {
    case TS_BOOL:
        return e.u8 != 0;
    case TS_U8:
        return e.u8;
    case TS_I8:
        return e.i8;
    case TS_U16:
        return e.u16;
    case TS_I16:
        return e.i16;
    case TS_F16:
        return (double)ts_f16_to_f32(e.u16);
    case TS_BF16:
        return (double)ts_bf16_to_f32(e.u16);
    case TS_U32:
        return e.u32;
    case TS_I32:
        return e.i32;
    case TS_F32:
        return (double)e.f32;
    case TS_U64:
        return (double)e.u64;
    case TS_I64:
        return (double)e.i64;
    case TS_F64:
        return e.f64;
    default:
        return (double)NAN; /* F8, F6, F4 and C64 are only ever carried, never read */
    }
}

void ts_shape_text(int ndim, const int64_t *dim, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "[");
    for (int i = 0; i < ndim && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%" PRId64, i > 0 ? "," : "", dim[i]);
    if (n < size)
        snprintf(out + n, size - n, "]");
}
