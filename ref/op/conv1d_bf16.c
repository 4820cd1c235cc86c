#include "op.h"

/* conv1d whose sum is stored as bf16 before silu reads it (torch's conv1d, then its activation):
 * y_tc = silu(m(sum_j w_cj u_{t-(W-1)+j, c})), m = round_bf16. Shapes, state and the sum: as conv1d.
 * Source: transformers 5.17, the path without causal_conv1d. */
void ts_conv1d_bf16(const ts_conv1d_args *a)
{
    for (int64_t c = 0; c < a->C; c++) {
        const ts_real *w = a->w + c * a->W;
        ts_real *u = a->state + c * a->W;
        for (int64_t t = 0; t < a->T; t++) {
            for (int64_t j = 0; j + 1 < a->W; j++)
                u[j] = u[j + 1];
            u[a->W - 1] = a->x[t * a->C + c];
            ts_real acc = 0;
            for (int64_t j = 0; j < a->W; j++)
                acc = ts_fma(w[j], u[j], acc);
            a->y[t * a->C + c] = ts_silu(ts_round_bf16(acc));
        }
    }
}
