#include "matmul_blocks.h"

#include "block.h"
#include "quantize_blocks.h"

void ts_matmul_blocks(const ts_matmul_ggml_args *a, ts_block_rule rule)
{
    const int64_t row = ts_matrix_row_bytes(a->w);
    ts_quantize_blocks(&(ts_quantize_blocks_args){.T = a->T, .K = a->K, .x = a->x, .block = a->block},
                       ts_block_activation(a->w->format), rule);
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t n = 0; n < a->N; n++)
            ts_block_dot(a->w->format, (const uint8_t *)a->w->data + n * row, (const uint8_t *)a->block + t * a->B,
                         a->K, &a->y[t * a->N + n]);
}

/* ggml's product with weights in blocks, by its scalar reference: the activations become blocks of 8-bit codes
 * (Q8_0, Q8_1 or Q8_K, as the weights' format asks), and a row's product is that format's `dot`
 * (ref/op/<format>.c): exact integer sums a block, f32 across blocks. x [T,K]; w [N,K] in blocks; block [T,B], B
 * the bytes of a row of activation blocks; y [T,N]. */
void ts_matmul_ggml(const ts_matmul_ggml_args *a)
{
    ts_matmul_blocks(a, TS_BLOCK_REFERENCE);
}
