#include "op.h"

/* g = -exp(A_log) softplus(a + dt_bias): the log decay; beta = sigmoid(b): the write strength.
 * a, b, g, beta [T,H]; A_log, dt_bias [H]. Rounded: exp, the sum, softplus, the product, sigmoid. */
void ts_gdn_gates(const ts_gdn_gates_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t h = 0; h < a->H; h++) {
            int64_t th = t * a->H + h;
            a->g[th] = -(ts_exp(a->A_log[h]) * ts_softplus(a->a[th] + a->dt_bias[h]));
            a->beta[th] = ts_sigmoid(a->b[th]);
        }
}
