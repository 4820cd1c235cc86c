#include "quantize_blocks.h"

#include "block.h"

void ts_quantize_blocks(const ts_quantize_blocks_args *a, ts_weight_format format, ts_block_rule rule)
{
    const ts_ggml_type *type = ts_block_type(format);
    float x[TS_SUPER];
    for (int64_t block = 0; block < a->T * a->K / type->elements; block++) {
        for (int i = 0; i < type->elements; i++)
            x[i] = (float)a->x[block * type->elements + i];
        ts_block_encode(format, rule, x, type->elements, (uint8_t *)a->block + block * type->bytes);
    }
}
