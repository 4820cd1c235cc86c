/* Products of activations in codec A64, a group of 64 at a time: codes of weights times codes of activations. */
#ifndef TS_OP_A64_H
#define TS_OP_A64_H

#include "op.h"

enum { TS_A64_GROUP = 64 };

/* The codes of group g of weight row n, unsigned. */
static inline void ts_a64_codes(const ts_matrix *w, int64_t n, int64_t g, int32_t u[TS_A64_GROUP])
{
    for (int k = 0; k < TS_A64_GROUP; k++)
        u[k] = (int32_t)ts_mlx_code(w, n, TS_A64_GROUP * g + k);
}

/* D = sum_k u_k code_k, exact */
static inline int32_t ts_a64_dot(const int32_t u[TS_A64_GROUP], const int8_t *code)
{
    int32_t D = 0;
    for (int k = 0; k < TS_A64_GROUP; k++)
        D += u[k] * code[k];
    return D;
}

/* How a group joins the accumulator o: term = s step. */
typedef ts_real (*ts_a64_join)(ts_real term, ts_real D, ts_real b, ts_real sum, ts_real o);

/* Every output is one accumulator from +0, groups ascending, K never split. */
static inline void ts_a64_ascending(const ts_matmul_a64s8_args *a, ts_a64_join join)
{
    const int64_t G = a->K / TS_A64_GROUP;
    for (int64_t i = 0; i < a->T * a->N; i++)
        a->y[i] = 0;
    for (int64_t n = 0; n < a->N; n++)
        for (int64_t g = 0; g < G; g++) {
            const ts_real s = ts_mlx_scale(a->w, n, g), b = ts_mlx_bias(a->w, n, g);
            int32_t u[TS_A64_GROUP];
            ts_a64_codes(a->w, n, g, u);
            for (int64_t t = 0; t < a->T; t++) {
                const int64_t run = t * G + g;
                ts_real *o = a->y + t * a->N + n;
                ts_real D = (ts_real)ts_a64_dot(u, a->code + TS_A64_GROUP * run);
                *o = join(s * a->step[run], D, b, a->sum[run], *o);
            }
        }
}

#endif
