/* What matmul_ggml and matmul_ggml_x86 share. */
#ifndef TS_OP_MATMUL_BLOCKS_H
#define TS_OP_MATMUL_BLOCKS_H

#include "op.h"

/* block_t = row t of x as f32 in the blocks that go with w, made by `rule`; y_tn = dot(row n of w, block_t). */
void ts_matmul_blocks(const ts_matmul_ggml_args *a, ts_block_rule rule);

#endif
