#include "op.h"

/* y = x sigmoid(gate), one gate a row: the shared expert's of Qwen's sparse models.
 * x, y [T,C]; gate [T]. Rounded: sigmoid, the product. */
void ts_row_gate(const ts_row_gate_args *a)
{
    for (int64_t t = 0; t < a->T; t++) {
        const ts_real gate = ts_sigmoid(a->gate[t]);
        for (int64_t c = 0; c < a->C; c++)
            a->y[t * a->C + c] = a->x[t * a->C + c] * gate;
    }
}
