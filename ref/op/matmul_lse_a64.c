#include "a64.h"

static ts_real join(ts_real term, ts_real D, ts_real b, ts_real sum, ts_real o)
{
    return ts_fma(term, D, o) + b * sum;
}

/* y_tn = sum_k x_tk w_nk with x as quantize_a64 left it and w = s u + b in groups of 64, order A64: one accumulator
 * o from +0, groups ascending,
 *
 *   o = (o + (s step) D) + b sum,   D = sum_k u_k code_k exact
 *
 * code [T,K]; step, sum [T,K/64]; w [N,K] MLX, group 64, 4 or 8 bits; y [T,N]. Rounded: s step, the fma with D and
 * o, b sum, its addition. Source: the R9700 engine LSE, int8 WMMA; K is never split, so the tile, the staging and
 * the number of rows leave the bits alone. */
void ts_matmul_lse_a64(const ts_matmul_a64s8_args *a)
{
    ts_a64_ascending(a, join);
}
