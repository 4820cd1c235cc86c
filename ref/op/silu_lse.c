#include "op.h"
#if TS_PRECISION == 32
#include "num/exp_cr.h"
#endif

/* y = x / (1 + exp(-x)) with the nearest f32 of exp: silu as the host code of the R9700 engine LSE has it; its
 * device has an exp that is only near. Rounded: exp, the sum, the quotient. */
ts_real ts_silu_lse(ts_real x)
{
#if TS_PRECISION == 32
    return x / (1 + ts_exp_cr(-x));
#else
    return x / (1 + ts_exp(-x));
#endif
}
