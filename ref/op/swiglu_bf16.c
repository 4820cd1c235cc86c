#include "op.h"

/* y_i = m(silu(a_i)) b_i, m = round_bf16: silu is stored as bf16 before the product. a, b, y [n].
 * Rounded: silu and m, the product. Source: transformers 5.17, Qwen3_5MLP. */
void ts_swiglu_bf16(const ts_zip_args *a)
{
    for (int64_t i = 0; i < a->n; i++)
        a->y[i] = ts_round_bf16(ts_silu(a->a[i])) * a->b[i];
}
