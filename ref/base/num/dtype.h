/* Element types (names and widths as in safetensors) and the tensor view. */
#ifndef TS_NUM_DTYPE_H
#define TS_NUM_DTYPE_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    TS_BOOL,
    TS_U8,
    TS_I8,
    TS_F8_E5M2,
    TS_F8_E4M3,
    TS_F8_E8M0,
    TS_F8_E4M3FNUZ,
    TS_F8_E5M2FNUZ,
    TS_I16,
    TS_U16,
    TS_F16,
    TS_BF16,
    TS_I32,
    TS_U32,
    TS_F32,
    TS_I64,
    TS_U64,
    TS_F64,
    TS_C64,
    TS_F4,
    TS_F6_E2M3,
    TS_F6_E3M2,
    TS_DTYPE_COUNT,
} ts_dtype;

typedef struct {
    char name[16]; /* the safetensors spelling */
    int32_t bits;  /* per element */
} ts_dtype_info;

extern const ts_dtype_info ts_dtype_table[TS_DTYPE_COUNT];

/* The dtype of that name, or TS_DTYPE_COUNT. */
ts_dtype ts_dtype_find(const char *name);

enum { TS_MAX_DIMS = 8 };

/* A named, dense, row-major, little-endian view; it owns nothing. */
typedef struct {
    const char *name;
    ts_dtype dtype;
    int ndim;
    int64_t dim[TS_MAX_DIMS];
    const void *data;
    size_t size; /* bytes */
} ts_tensor;

/* Number of elements (1 for a scalar). */
int64_t ts_tensor_count(const ts_tensor *t);

/* Element i widened to double (BOOL, the integers, F16, BF16, F32, F64; integers exactly up to 2^53).
 * NaN for the types that are only carried: F8, F6, F4, C64. */
double ts_tensor_get(const ts_tensor *t, int64_t i);

/* "[3,256]"; TS_SHAPE_TEXT bytes hold any. */
enum { TS_SHAPE_TEXT = 192 };
void ts_shape_text(int ndim, const int64_t *dim, char *out, size_t size);

#endif
