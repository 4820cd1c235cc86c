/* One run of the activation codecs A64 (64 values) and A8 (8 values). */
#ifndef TS_OP_CODEC_H
#define TS_OP_CODEC_H

#include <stdint.h>
#include "num/real.h"

/*   amax = max |x|,  step = amax c,  code = rint(x inv),  inv = 127 / max(amax, 1e-30)
 * with c the f32 nearest to 1/127. Rounded: step, inv, x inv, rint (ties to even).
 * amax skips NaN and starts at +0. A product that is not finite has code 0; no other can leave -127..127. */
static inline void ts_codec_run(const ts_real *x, int n, int8_t *code, ts_real *step)
{
    ts_real amax = 0;
    for (int i = 0; i < n; i++)
        if (ts_fabs(x[i]) > amax)
            amax = ts_fabs(x[i]);
    const ts_real least = (ts_real)1e-30f;
    const ts_real inv = 127 / (amax > least ? amax : least);
    for (int i = 0; i < n; i++) {
        ts_real product = x[i] * inv;
        code[i] = isfinite(product) ? (int8_t)ts_rint(product) : 0;
    }
    *step = amax * (ts_real)0x1.020408p-7;
}

#endif
