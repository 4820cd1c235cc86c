#include "w8a8.h"

/* matmul_w8a8 with a bias [N] of f16 values: y = h(acc s_n + bias_n). Rounded: as there, and the sum before f16. */
void ts_matmul_w8a8_bias(const ts_matmul_w8a8_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t n = 0; n < a->N; n++) {
            int32_t acc = ts_w8a8_sum(a, t, n);
            ts_real s = (ts_real)(float)a->sx * ts_w8a8_scale(a, n), product = (ts_real)acc * s;
            a->acc[t * a->N + n] = acc;
            a->y[t * a->N + n] = ts_round_f16(product + a->bias[n]);
        }
}
