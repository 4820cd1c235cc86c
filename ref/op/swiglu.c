#include "op.h"

/* y_i = silu(a_i) b_i, a = gate, b = up. a, b, y [n]. Rounded: silu, the product. */
void ts_swiglu(const ts_zip_args *a)
{
    for (int64_t i = 0; i < a->n; i++)
        a->y[i] = ts_silu(a->a[i]) * a->b[i];
}
