#include "format/block.h"

#include <stddef.h>

static const struct {
    ts_weight_format format;
    int32_t type;
    ts_weight_format activation;
} table[] = {
    {TS_W_Q4_0, 2, TS_W_Q8_0},   {TS_W_Q4_1, 3, TS_W_Q8_1},    {TS_W_Q5_0, 6, TS_W_Q8_0},
    {TS_W_Q5_1, 7, TS_W_Q8_1},   {TS_W_Q8_0, 8, TS_W_Q8_0},    {TS_W_Q8_1, 9, TS_W_Q8_1},
    {TS_W_Q4_K, 12, TS_W_Q8_K},  {TS_W_Q5_K, 13, TS_W_Q8_K},   {TS_W_Q6_K, 14, TS_W_Q8_K},
    {TS_W_Q8_K, 15, TS_W_Q8_K},  {TS_W_IQ4_NL, 20, TS_W_Q8_0}, {TS_W_IQ4_XS, 23, TS_W_Q8_K},
    {TS_W_MXFP4, 39, TS_W_Q8_0},
};

const ts_ggml_type *ts_block_type(ts_weight_format format)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].format == format)
            return ts_ggml_type_of(table[i].type);
    return NULL;
}

bool ts_block_format(int64_t type, ts_weight_format *out)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].type == type) {
            *out = table[i].format;
            return true;
        }
    return false;
}

ts_weight_format ts_block_activation(ts_weight_format format)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].format == format)
            return table[i].activation;
    return TS_W_F32;
}

int64_t ts_matrix_row_bytes(const ts_matrix *w)
{
    const ts_ggml_type *type = ts_block_type(w->format);
    if (type)
        return w->K / type->elements * type->bytes;
    return w->format == TS_W_MLX ? w->K * w->bits / 8 : w->K * (w->format == TS_W_F32 ? 4 : 2);
}

int64_t ts_block_row_bytes(const ts_matrix *w)
{
    const ts_ggml_type *type = ts_block_type(ts_block_activation(w->format));
    return w->K / type->elements * type->bytes;
}

/* Where a block holds f16 numbers: at byte 0 and perhaps 2, but Q6_K's at its end. MXFP4 has none; Q8_K has an f32,
 * of which the upper half is finite exactly if the number is, by another mask. */
static int halves(ts_weight_format format, int at[2])
{
    at[0] = format == TS_W_Q6_K ? 208 : format == TS_W_Q8_K ? 2 : 0;
    at[1] = 2;
    if (format == TS_W_MXFP4)
        return 0;
    const bool two = format == TS_W_Q4_1 || format == TS_W_Q5_1 || format == TS_W_Q8_1 || format == TS_W_Q4_K ||
                     format == TS_W_Q5_K;
    return two ? 2 : 1;
}

bool ts_block_scales_finite(ts_weight_format format, const void *blocks, int64_t n)
{
    int at[2], count = halves(format, at);
    const int exponent = format == TS_W_Q8_K ? 0x7f80 : 0x7c00;
    const uint8_t *b = blocks;
    for (int64_t i = 0; i < n; i++, b += ts_block_type(format)->bytes)
        for (int h = 0; h < count; h++)
            if (((b[at[h] + 1] << 8 | b[at[h]]) & exponent) == exponent)
                return false;
    return true;
}
