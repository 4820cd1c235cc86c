#include "quantize_blocks.h"

/* Activations in Q8_1 (ref/op/q8_1.c): codes and d of quantize_q8_0, and s = f16 of d times the sum of the codes.
 * x [T,K]; block [T,K/32*36]. */
void ts_quantize_q8_1(const ts_quantize_blocks_args *a)
{
    ts_quantize_blocks(a, TS_W_Q8_1, TS_BLOCK_REFERENCE);
}
