#include "op.h"

enum { GROUP = 64 };

/* One element of x w^T: row t of the codes, row n of w. */
static ts_real product(const ts_gate_up_a64s8_args *a, const ts_matrix *w, int64_t t, int64_t n)
{
    const int64_t G = a->K / GROUP;
    const ts_matrix row = ts_matrix_rows(w, n, 1);
    ts_real y;
    ts_matmul_a64s8(
        &(ts_matmul_a64s8_args){1, 1, a->K, a->code + t * a->K, a->step + t * G, a->sum + t * G, &row, &y});
    return y;
}

/* g = x gate^T, u = x up^T (matmul_a64s8), y = silu(g) u.
 * code [T,K]; step, sum [T,K/64]; gate, up [I,K]; y [T,I]; g, u [T,I] or NULL. Rounded as in the operations. */
void ts_gate_up_a64s8(const ts_gate_up_a64s8_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t n = 0; n < a->I; n++) {
            ts_real g = product(a, a->gate, t, n), u = product(a, a->up, t, n);
            a->y[t * a->I + n] = ts_silu(g) * u;
            if (a->g)
                a->g[t * a->I + n] = g;
            if (a->u)
                a->u[t * a->I + n] = u;
        }
}
