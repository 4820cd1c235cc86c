/* ggml's blocks as f32, a block at a time. */
#ifndef TS_FAST_WIDEN_BLOCKS_H
#define TS_FAST_WIDEN_BLOCKS_H

#include "format/block.h"

enum { TS_FAST_BLOCK = 256 };

/* x gets a block's values: 32 or 256. */
void ts_widen_block(ts_weight_format format, const uint8_t *block, float *x);

#endif
