#include "num/convert.h"
#include "op.h"

/* y = the bf16 nearest to x, ties to even, widened. One rounding from either precision. */
ts_real ts_round_bf16(ts_real x)
{
    return (ts_real)ts_bf16_to_f32(ts_f64_to_bf16((double)x));
}
