#include "op.h"

/* y_i = a_i sigmoid(b_i): the output gate of full attention, a = attention output, b = gate.
 * a, b, y [n]. Rounded: sigmoid, the product. */
void ts_sigmoid_gate(const ts_zip_args *a)
{
    for (int64_t i = 0; i < a->n; i++)
        a->y[i] = a->a[i] * ts_sigmoid(a->b[i]);
}
