#include "kda_chunk.h"
#include "num/coef.h"

/* kda_chunk with powers of two: the sum G of g is multiplied by 1/ln2 (f32: 0x3fb8aa3b) as soon as it is made, and
 * exp2 stands for exp everywhere after it, as flash-linear-attention's kernels have it. The product is one rounding
 * more, of G's size: it moves exp2 of a difference by up to |G| / 2 ulp, and is not bit-equal to exp. */
void ts_kda_chunk_exp2(const ts_gdn_args *a)
{
#if TS_PRECISION == 64
    ts_kda_chunks(a, ts_exp2, 1.4426950408889634);
#else
    ts_kda_chunks(a, ts_exp2, ts_coef_log2e);
#endif
}
