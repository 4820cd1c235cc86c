#include "quantize_blocks.h"

/* Activations in Q8_K (ref/op/q8_k.c), the same on every CPU: codes of x fl(-127 / max), max the first value of the
 * largest magnitude, d in f32, and the sums of 16 codes each. x [T,K]; block [T,K/256*292]. What is not finite: as
 * in quantize_q8_0. */
void ts_quantize_q8_k(const ts_quantize_blocks_args *a)
{
    ts_quantize_blocks(a, TS_W_Q8_K, TS_BLOCK_REFERENCE);
}
