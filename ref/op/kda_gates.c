#include "op.h"

/* The gates of Kimi Delta Attention (arXiv 2510.26692), a log decay per channel and a write strength per head:
 *
 *   g = -exp(A_log) softplus(f + dt_bias),  beta = beta_scale sigmoid(b)
 *
 * f, g [T,H,D]; b, beta [T,H]; A_log [H]; dt_bias [H,D]. beta_scale 2 lets the state's eigenvalues be negative.
 * Rounded: exp, the sum, softplus, the product; sigmoid, its product with beta_scale (exact for 1 and 2). */
void ts_kda_gates(const ts_kda_gates_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t h = 0; h < a->H; h++) {
            int64_t th = t * a->H + h;
            const ts_real rate = ts_exp(a->A_log[h]);
            for (int64_t i = 0; i < a->D; i++)
                a->g[th * a->D + i] = -(rate * ts_softplus(a->f[th * a->D + i] + a->dt_bias[h * a->D + i]));
            a->beta[th] = (ts_real)a->beta_scale * ts_sigmoid(a->b[th]);
        }
}
