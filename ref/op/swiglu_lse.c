#include "op.h"

/* y = silu(a) b with silu_lse: a gate, b up. Rounded: silu_lse's steps, the product. */
void ts_swiglu_lse(const ts_zip_args *a)
{
    for (int64_t i = 0; i < a->n; i++)
        a->y[i] = ts_silu_lse(a->a[i]) * a->b[i];
}
