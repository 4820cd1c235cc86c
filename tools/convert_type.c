/* Rows of numbers as ggml's types: plain ones rounded to nearest even, blocks by ref32's encoders, those of files.
 */
#include <math.h>
#include <string.h>

#include "convert.h"
#include "convert_parts.h"
#include "format/block.h"
#include "ref.h"
#include "num/convert.h"

static const struct {
    const char *name, *type;
    uint32_t file;
} types[] = {
    {"f32", "F32", 0},        {"f16", "F16", 1},      {"bf16", "BF16", 32}, {"q8_0", "Q8_0", 7},
    {"q4_0", "Q4_0", 2},      {"q4_1", "Q4_1", 3},    {"q5_0", "Q5_0", 8},  {"q5_1", "Q5_1", 9},
    {"q4_k", "Q4_K", 14},     {"q5_k", "Q5_K", 16},   {"q6_k", "Q6_K", 18}, {"iq4_nl", "IQ4_NL", 25},
    {"iq4_xs", "IQ4_XS", 30}, {"mxfp4", "MXFP4", 38},
};

enum { TYPES = sizeof types / sizeof *types };

const ts_ggml_type *ts_convert_type(const char *name)
{
    for (int i = 0; i < TYPES; i++)
        if (strcmp(types[i].name, name) == 0)
            return ts_ggml_type_find(types[i].type);
    return NULL;
}

uint32_t ts_convert_file_type(const ts_ggml_type *type)
{
    int i = 0;
    while (strcmp(types[i].type, type->name) != 0)
        i++;
    return types[i].file;
}

/* Infinity is what a number too large became. */
static bool pack_halves(bool brain, const float *row, int64_t K, unsigned char *packed)
{
    const uint16_t exponent = brain ? 0x7F80 : 0x7C00;
    bool fits = true;
    for (int64_t k = 0; k < K; k++) {
        const uint16_t h = brain ? ts_f32_to_bf16(row[k]) : ts_f32_to_f16(row[k]);
        packed[2 * k] = (unsigned char)(h & 255);
        packed[2 * k + 1] = (unsigned char)(h >> 8);
        fits &= (h & exponent) != exponent;
    }
    return fits;
}

/* The largest f16 times the largest codes (Q6_K's, 128 * 32) is under 2^28. The encoders would square what lies far
 * beyond it, and choose a scale by infinities. MXFP4's scales are powers of two up to 2^127. */
static bool is_in_reach(ts_weight_format format, const float *row, int64_t K)
{
    bool in = true;
    for (int64_t k = 0; k < K && format != TS_W_MXFP4; k++)
        in &= fabsf(row[k]) < 0x1p28f;
    return in;
}

bool ts_convert_pack(const ts_ggml_type *type, const float *row, int64_t K, unsigned char *packed)
{
    ts_weight_format format;
    if (type->dtype == TS_F32) {
        memcpy(packed, row, (size_t)K * sizeof(float));
        return true;
    }
    if (type->dtype != TS_DTYPE_COUNT)
        return pack_halves(type->dtype == TS_BF16, row, K, packed);
    if (!ts_block_format(type->id, &format) || !is_in_reach(format, row, K))
        return false;
    ts_ref32.block_encode(format, TS_BLOCK_FILE, row, K, packed);
    return ts_block_scales_finite(format, packed, K / type->elements);
}
