#include "quantize_blocks.h"

/* quantize_q8_0 as ggml's AVX2 code makes it: q = rint(x fl(127 / max |x|)), ties to even. */
void ts_quantize_q8_0_x86(const ts_quantize_blocks_args *a)
{
    ts_quantize_blocks(a, TS_W_Q8_0, TS_BLOCK_X86);
}
