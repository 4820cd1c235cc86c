#include "quantize_blocks.h"

/* Activations in Q8_0 (ref/op/q8_0.c), by ggml's scalar rule: d = max |x| / 127, q = round(x fl(1/d)), ties away
 * from zero. x [T,K]; block [T,K/32*34], the bytes as ggml has them. f32 whatever ts_real is. What x that is not
 * finite becomes is what ggml's code makes of it on x86: C leaves it open. */
void ts_quantize_q8_0(const ts_quantize_blocks_args *a)
{
    ts_quantize_blocks(a, TS_W_Q8_0, TS_BLOCK_REFERENCE);
}
