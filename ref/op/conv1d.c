#include "op.h"

/* y_tc = silu(sum_{j=0..W-1} w_cj u_{t-(W-1)+j, c}): depthwise and causal, u = the W inputs ending at t.
 * x, y [T,C]; w [C,W]; state [C,W] = the last W inputs, oldest first, +0 before the first token; the new
 * state replaces it. Rounded: one fma per tap, oldest tap first from +0, and silu. */
void ts_conv1d(const ts_conv1d_args *a)
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
            a->y[t * a->C + c] = ts_silu(acc);
        }
    }
}
