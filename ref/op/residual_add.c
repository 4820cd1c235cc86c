#include "op.h"

/* y_i = a_i + b_i: the residual stream plus a branch. a, b, y [n]. Rounded: the sum. */
void ts_residual_add(const ts_zip_args *a)
{
    for (int64_t i = 0; i < a->n; i++)
        a->y[i] = a->a[i] + a->b[i];
}
