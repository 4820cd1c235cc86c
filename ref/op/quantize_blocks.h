/* What the quantisers of activations and ggml's products share. */
#ifndef TS_OP_QUANTIZE_BLOCKS_H
#define TS_OP_QUANTIZE_BLOCKS_H

#include "op.h"

/* Row t of x as f32 in blocks of that format, one after another, made by `rule`; K a multiple of a block's values.
 */
void ts_quantize_blocks(const ts_quantize_blocks_args *a, ts_weight_format format, ts_block_rule rule);

#endif
