#include "op.h"

enum { TERMS = 24 };

static const double ln2 = 0x1.62e42fefa39efp-1;

/* log(x) = k ln2 + 2 (s + s^3/3 + s^5/5 + ...), x = m 2^k, s = (m - 1) / (m + 1), in double: x >= 1. */
static double log_of(double x)
{
    int k;
    double m = frexp(x, &k), s, z, sum = 0;
    if (m < 0.70710678118654752) {
        m *= 2;
        k--;
    }
    s = (m - 1) / (m + 1);
    z = s * s;
    for (int i = TERMS; i >= 0; i--)
        sum = sum * z + 1.0 / (2 * i + 1);
    return k * ln2 + 2 * s * sum;
}

/* y = log(1 + exp(x)), x above 20: x itself. Rounded: exp, the sum, log once (evaluated in double). Below -17
 * exp(x) is lost in the sum and y is +0. */
static ts_real softplus(ts_real x)
{
    return x > 20 || isnan(x) ? x : (ts_real)log_of((double)(1 + ts_exp(x)));
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
