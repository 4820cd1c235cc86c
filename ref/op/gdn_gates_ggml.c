#include "log_double.h"
#include "op.h"

/* y = log(1 + exp(x)), x above 20: x itself. Rounded: exp, the sum, log once (evaluated in double). Below -17
 * exp(x) is lost in the sum and y is +0. */
static ts_real softplus(ts_real x)
{
    return x > 20 || isnan(x) ? x : (ts_real)ts_log_double((double)(1 + ts_exp(x)));
}

/* gdn_gates with ggml's softplus: g = -(exp(A_log) log(1 + exp(a + dt_bias))), beta = sigmoid(b).
 * a, b, g, beta [T,H]; A_log, dt_bias [H]. Rounded: exp, the sum, softplus as above, the product, sigmoid.
 * Source: ggml, op_softplus (libm's expf and logf there, at most an ulp from these). */
void ts_gdn_gates_ggml(const ts_gdn_gates_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t h = 0; h < a->H; h++) {
            int64_t th = t * a->H + h;
            a->g[th] = -(ts_exp(a->A_log[h]) * softplus(a->a[th] + a->dt_bias[h]));
            a->beta[th] = ts_sigmoid(a->b[th]);
        }
}
