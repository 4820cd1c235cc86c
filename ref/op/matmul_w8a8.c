#include "w8a8.h"

/* acc = sum_k code_k w_k in 32-bit integers, y = h(acc s_n), s_n = sx sw_n: form w8a8-i32 of Apple's neural engine.
 * code [T,K], w [N,K] int8; sw [S] of f16 values, S divides N, sw_n = sw[n mod S]; sx an f16 value; acc, y [T,N], y
 * of f16 values. Rounded: sx sw; acc to ts_real (beyond 2^24 in f32); their product; to f16, ties to even, overflow
 * to infinity. */
void ts_matmul_w8a8(const ts_matmul_w8a8_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t n = 0; n < a->N; n++) {
            int32_t acc = ts_w8a8_sum(a, t, n);
            ts_real s = (ts_real)(float)a->sx * ts_w8a8_scale(a, n);
            a->acc[t * a->N + n] = acc;
            a->y[t * a->N + n] = ts_round_f16((ts_real)acc * s);
        }
}
