#include "num/convert.h"
#include "op.h"

/* y = the f16 nearest to x, ties to even, widened; infinity from 65520 on. One rounding from either precision. */
ts_real ts_round_f16(ts_real x)
{
    return (ts_real)ts_f16_to_f32(ts_f64_to_f16((double)x));
}
