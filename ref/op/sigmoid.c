#include "op.h"

/* y = 1 / (1 + exp(-x)). Rounded: exp, the sum, the quotient.
 * Where exp(-x) overflows (x below -88.72 in f32) the result is +0, not a subnormal. */
ts_real ts_sigmoid(ts_real x)
{
    return 1 / (1 + ts_exp(-x));
}
