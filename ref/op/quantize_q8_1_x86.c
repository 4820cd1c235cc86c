#include "quantize_blocks.h"

/* quantize_q8_1 with the codes of quantize_q8_0_x86. */
void ts_quantize_q8_1_x86(const ts_quantize_blocks_args *a)
{
    ts_quantize_blocks(a, TS_W_Q8_1, TS_BLOCK_X86);
}
