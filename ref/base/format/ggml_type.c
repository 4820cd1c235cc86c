#include "format/ggml_type.h"

#include <stddef.h>
#include <string.h>

static const ts_ggml_type types[] = {
    {"F32", 0, 1, 4, TS_F32},
    {"F16", 1, 1, 2, TS_F16},
    {"Q4_0", 2, 32, 18, TS_DTYPE_COUNT},
    {"Q4_1", 3, 32, 20, TS_DTYPE_COUNT},
    {"Q5_0", 6, 32, 22, TS_DTYPE_COUNT},
    {"Q5_1", 7, 32, 24, TS_DTYPE_COUNT},
    {"Q8_0", 8, 32, 34, TS_DTYPE_COUNT},
    {"Q8_1", 9, 32, 36, TS_DTYPE_COUNT},
    {"Q2_K", 10, 256, 84, TS_DTYPE_COUNT},
    {"Q3_K", 11, 256, 110, TS_DTYPE_COUNT},
    {"Q4_K", 12, 256, 144, TS_DTYPE_COUNT},
    {"Q5_K", 13, 256, 176, TS_DTYPE_COUNT},
    {"Q6_K", 14, 256, 210, TS_DTYPE_COUNT},
    {"Q8_K", 15, 256, 292, TS_DTYPE_COUNT},
    {"IQ2_XXS", 16, 256, 66, TS_DTYPE_COUNT},
    {"IQ2_XS", 17, 256, 74, TS_DTYPE_COUNT},
    {"IQ3_XXS", 18, 256, 98, TS_DTYPE_COUNT},
    {"IQ1_S", 19, 256, 50, TS_DTYPE_COUNT},
    {"IQ4_NL", 20, 32, 18, TS_DTYPE_COUNT},
    {"IQ3_S", 21, 256, 110, TS_DTYPE_COUNT},
    {"IQ2_S", 22, 256, 82, TS_DTYPE_COUNT},
    {"IQ4_XS", 23, 256, 136, TS_DTYPE_COUNT},
    {"I8", 24, 1, 1, TS_I8},
    {"I16", 25, 1, 2, TS_I16},
    {"I32", 26, 1, 4, TS_I32},
    {"I64", 27, 1, 8, TS_I64},
    {"F64", 28, 1, 8, TS_F64},
    {"IQ1_M", 29, 256, 56, TS_DTYPE_COUNT},
    {"BF16", 30, 1, 2, TS_BF16},
    {"TQ1_0", 34, 256, 54, TS_DTYPE_COUNT},
    {"TQ2_0", 35, 256, 66, TS_DTYPE_COUNT},
    {"MXFP4", 39, 32, 17, TS_DTYPE_COUNT},
    {"NVFP4", 40, 64, 36, TS_DTYPE_COUNT},
};

const ts_ggml_type *ts_ggml_type_of(int64_t id)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].id == id)
            return &types[i];
    return NULL;
}

const ts_ggml_type *ts_ggml_type_find(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}
