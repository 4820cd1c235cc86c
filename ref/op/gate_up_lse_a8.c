#include "op.h"

enum { CHUNK = 8, GROUP = 64 };

/* One element of x w^T: row t of the codes, row n of w. */
static ts_real product(const ts_gate_up_lse_a8_args *a, const ts_matrix *w, int64_t t, int64_t n)
{
    const int64_t K = a->K;
    const ts_matrix row = ts_matrix_rows(w, n, 1);
    ts_real y;
    ts_matmul_lse_a8(&(ts_matmul_lse_a8_args){1, 1, K, a->S, a->code + t * K, a->step + t * (K / CHUNK),
                                              a->sum + t * (K / GROUP), &row, &y});
    return y;
}

/* g = x gate^T, u = x up^T (matmul_lse_a8), y = silu_lse(g) u.
 * code [T,K]; step [T,K/8]; sum [T,K/64]; gate, up [I,K]; y [T,I]; g, u [T,I] or NULL. Rounded as in the
 * operations, then the last product; nothing is narrower than f32. Source: the R9700 engine LSE, its fused FFN. */
void ts_gate_up_lse_a8(const ts_gate_up_lse_a8_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t n = 0; n < a->I; n++) {
            ts_real g = product(a, a->gate, t, n), u = product(a, a->up, t, n);
            a->y[t * a->I + n] = ts_silu_lse(g) * u;
            if (a->g)
                a->g[t * a->I + n] = g;
            if (a->u)
                a->u[t * a->I + n] = u;
        }
}
