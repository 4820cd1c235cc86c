/* What the operations of Apple's neural engine in 8 bits share. */
#ifndef TS_OP_W8A8_H
#define TS_OP_W8A8_H

#include "op.h"

/* clamp(rint(q), -128, 127), ties to even; a NaN is 127 */
static inline int8_t ts_w8a8_code(float q)
{
    if (!(q < 127))
        return 127;
    return q <= -128 ? -128 : (int8_t)rintf(q);
}

/* The scale of output n: one for all (S = 1), its own (S = N), or that of the outputs S apart. */
static inline ts_real ts_w8a8_scale(const ts_matmul_w8a8_args *a, int64_t n)
{
    return a->sw[n % a->S];
}

/* sum_k code_k w_k, exact: K <= 131071 keeps it within 31 bits */
static inline int32_t ts_w8a8_sum(const ts_matmul_w8a8_args *a, int64_t t, int64_t n)
{
    int32_t sum = 0;
    for (int64_t k = 0; k < a->K; k++)
        sum += a->code[t * a->K + k] * a->w[n * a->K + k];
    return sum;
}

#endif
