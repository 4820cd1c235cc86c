#include "op.h"

/* kda_gates with a decay that stays above lower_bound, as chunk forms with a narrow exponent range want it:
 *
 *   g = lower_bound sigmoid(exp(A_log) (f + dt_bias)),  beta = beta_scale sigmoid(b)
 *
 * dt_bias lies inside the product with exp(A_log). Shapes as in kda_gates. Rounded: exp, the sum, the product,
 * sigmoid, the product with lower_bound; beta as in kda_gates. */
void ts_kda_gates_bounded(const ts_kda_gates_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t h = 0; h < a->H; h++) {
            int64_t th = t * a->H + h;
            const ts_real rate = ts_exp(a->A_log[h]);
            for (int64_t i = 0; i < a->D; i++) {
                ts_real f = a->f[th * a->D + i] + a->dt_bias[h * a->D + i];
                a->g[th * a->D + i] = (ts_real)a->lower_bound * ts_sigmoid(rate * f);
            }
            a->beta[th] = (ts_real)a->beta_scale * ts_sigmoid(a->b[th]);
        }
}
