#include "w8a8.h"

/* matmul_w8a8_unfused on a unit that adds in f32, k ascending: p = h(sx code_k) h(sw_n w_k), which is exact in f32,
 * sum = sum + p from +0, y = h(sum). Rounded: the two products to f16, every sum, the last to f16. */
void ts_matmul_w8a8_unfused_chain(const ts_matmul_w8a8_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t n = 0; n < a->N; n++) {
            ts_real sum = 0;
            for (int64_t k = 0; k < a->K; k++) {
                ts_real x = ts_round_f16((ts_real)(float)a->sx * (ts_real)a->code[t * a->K + k]);
                ts_real w = ts_round_f16(ts_w8a8_scale(a, n) * (ts_real)a->w[n * a->K + k]);
                sum = sum + x * w;
            }
            a->y[t * a->N + n] = ts_round_f16(sum);
        }
}
