#include "codec.h"
#include "lanes.h"
#include "op.h"

enum { CHUNK = 8, GROUP = 64 };

/* Sum of a group of 64: its eight chunks, each ascending from its first element, then the butterfly over them:
 * ((s0+s1)+(s2+s3)) + ((s4+s5)+(s6+s7)) */
static ts_real group_sum(const ts_real *x)
{
    ts_real s[GROUP / CHUNK];
    for (int c = 0; c < GROUP / CHUNK; c++) {
        s[c] = x[CHUNK * c];
        for (int i = 1; i < CHUNK; i++)
            s[c] = s[c] + x[CHUNK * c + i];
    }
    return ts_butterfly(s, GROUP / CHUNK);
}

/* Activation codec A8: code and step per chunk of 8 as in codec.h, the sum of x itself per group of 64.
 *
 * x, code [T,K]; step [T,K/8]; sum [T,K/64]. Rounded: as codec.h, and every sum. A NaN shows in sum, an infinite x
 * in step; the restored value is NaN either way. Source: the R9700 engine LSE, activations of its DOT4 kernels. */
void ts_quantize_lse_a8(const ts_quantize_lse_a8_args *a)
{
    for (int64_t c = 0; c < a->T * (a->K / CHUNK); c++)
        ts_codec_run(a->x + CHUNK * c, CHUNK, a->code + CHUNK * c, a->step + c);
    for (int64_t g = 0; g < a->T * (a->K / GROUP); g++)
        a->sum[g] = group_sum(a->x + GROUP * g);
}
