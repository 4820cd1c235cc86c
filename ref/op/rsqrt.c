#include "op.h"

/* y = 1 / sqrt(x). Rounded: the root, the quotient. */
ts_real ts_rsqrt(ts_real x)
{
    return 1 / ts_sqrt(x);
}
