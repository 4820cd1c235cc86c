#include "op.h"

/* y = x sigmoid(x), evaluated as x / (1 + exp(-x)). Rounded: exp, the sum, the quotient.
 * Where exp(-x) overflows (x below -88.72 in f32) the result is -0; silu(-inf) is NaN. */
ts_real ts_silu(ts_real x)
{
    return x / (1 + ts_exp(-x));
}
