/* Element types of GGUF tensors by ggml's numbers: name, elements and bytes of a
 * block, and the dtype if one element is one number. */
#ifndef TS_FORMAT_GGML_TYPE_H
#define TS_FORMAT_GGML_TYPE_H

#include <stdint.h>
#include "num/dtype.h"

typedef struct {
    char name[12];
    int32_t id, elements, bytes;
    ts_dtype dtype; /* TS_DTYPE_COUNT: blocks */
} ts_ggml_type;

/* Or NULL: no such type, or one whose layout is not known. */
const ts_ggml_type *ts_ggml_type_of(int64_t id);
const ts_ggml_type *ts_ggml_type_find(const char *name);

#endif
