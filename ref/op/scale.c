#include "op.h"

/* y_i = x_i scale. x, y [n]. Rounded: scale once, the product. */
void ts_scale(const ts_scale_args *a)
{
    for (int64_t i = 0; i < a->n; i++)
        a->y[i] = a->x[i] * (ts_real)a->scale;
}
