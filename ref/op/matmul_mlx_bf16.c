#include "op.h"

/* y_tn = sum_k x_tk w_nk with every step stored as bf16, m = round_bf16: w = m(m(scale code) + bias),
 * y = m(y + m(x w)), k ascending. x [T,K]; w [N,K], MLX; y [T,N]. Rounded: each product and sum, then m.
 * Source: MLX, quantized_matmul of the CPU back end, whose arithmetic is in the type of the activations. */
void ts_matmul_mlx_bf16(const ts_matmul_args *a)
{
    const ts_matrix *w = a->w;
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t n = 0; n < a->N; n++) {
            ts_real y = 0;
            for (int64_t k = 0; k < a->K; k++) {
                ts_real scaled = ts_round_bf16(ts_mlx_scale(w, n, k / w->group) * (ts_real)ts_mlx_code(w, n, k));
                ts_real weight = ts_round_bf16(scaled + ts_mlx_bias(w, n, k / w->group));
                y = ts_round_bf16(y + ts_round_bf16(a->x[t * a->K + k] * weight));
            }
            a->y[t * a->N + n] = y;
        }
}
