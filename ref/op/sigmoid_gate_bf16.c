#include "op.h"

/* y_i = a_i m(sigmoid(b_i)), m = round_bf16: the sigmoid is stored as bf16 before the product. a, b, y [n].
 * Rounded: sigmoid and m, the product. Source: transformers 5.17, Qwen3_5Attention. */
void ts_sigmoid_gate_bf16(const ts_zip_args *a)
{
    for (int64_t i = 0; i < a->n; i++)
        a->y[i] = a->a[i] * ts_round_bf16(ts_sigmoid(a->b[i]));
}
