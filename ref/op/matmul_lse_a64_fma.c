#include "a64.h"

static ts_real join(ts_real term, ts_real D, ts_real b, ts_real sum, ts_real o)
{
    return ts_fma(b, sum, ts_fma(term, D, o));
}

/* matmul_lse_a64 with its bias contracted: o = (o + (s step) D) + b sum in two fma. What a compiler that contracts
 * by default makes of the engine's older sources. Shapes as there; rounded: s step, either fma. */
void ts_matmul_lse_a64_fma(const ts_matmul_a64s8_args *a)
{
    ts_a64_ascending(a, join);
}
