#include "codec.h"
#include "op.h"

/* sum of a run of 64: four slices of 16, each ascending from its first element, then ((s0+s1)+s2)+s3 */
static ts_real run_sum(const ts_real *x)
{
    ts_real s[4];
    for (int z = 0; z < 4; z++) {
        s[z] = x[16 * z];
        for (int i = 1; i < 16; i++)
            s[z] = s[z] + x[16 * z + i];
    }
    return ((s[0] + s[1]) + s[2]) + s[3];
}

/* Activation codec A64, per run of 64:
 *   amax = max |x|,  step = amax / 127,  code = round(x / step),  sum = sum of x, not of its codes
 * with both quotients by a reciprocal: step = amax * c, c the f32 nearest to 1/127, and
 * code = rint(x * inv), inv = 127 / max(amax, 1e-30).
 *
 * x, code [T,K]; step, sum [T,K/64]. Rounded: step, inv, x * inv, rint (ties to even), every sum.
 * amax skips NaN and starts at +0. A product that is not finite has code 0; no other can leave
 * -127..127. A NaN shows in sum, an infinite x in step; the restored value is NaN either way. */
void ts_quantize_a64(const ts_quantize_a64_args *a)
{
    for (int64_t run = 0; run < a->T * (a->K / 64); run++) {
        ts_codec_run(a->x + 64 * run, 64, a->code + 64 * run, a->step + run);
        a->sum[run] = run_sum(a->x + 64 * run);
    }
}
