#include "log_double.h"
#include "lse.h"

static ts_real softplus(ts_real x)
{
    return x > 20 || isnan(x) ? x : (ts_real)ts_log_double((double)(1 + ts_lse_exp(x)));
}

/* The gates of LSE: g = -(exp(A_log) log(1 + exp(a + dt_bias))), beta = sigmoid(b) clamped to 1e-4 .. 1 - 1e-4.
 * a, b, g, beta [T,H]; A_log, dt_bias [H]. Rounded: exp, the sum, exp, 1 + it, the logarithm, the product; sigmoid
 * as exp, the sum, the quotient; both ends of the clamp, once. A NaN stays one. */
void ts_gdn_gates_lse(const ts_gdn_gates_args *a)
{
    const ts_real low = (ts_real)1e-4, high = (ts_real)(1 - 1e-4);
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t h = 0; h < a->H; h++) {
            int64_t th = t * a->H + h;
            const ts_real beta = ts_lse_sigmoid(a->b[th]);
            a->g[th] = -(ts_lse_exp(a->A_log[h]) * softplus(a->a[th] + a->dt_bias[h]));
            a->beta[th] = beta < low ? low : beta > high ? high : beta;
        }
}
