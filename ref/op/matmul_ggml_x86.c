#include "matmul_blocks.h"

/* matmul_ggml with the activations' codes as ggml's x86 code makes them: Q8_0 and Q8_1 multiply by 127/amax and
 * round ties to even. Q8_K is the same in both. */
void ts_matmul_ggml_x86(const ts_matmul_ggml_args *a)
{
    ts_matmul_blocks(a, TS_BLOCK_X86);
}
