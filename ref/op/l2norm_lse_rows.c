#include "op.h"

/* l2norm_lse as LSE has it for two rows and more: one ascending chain over the squares. All else as there. */
void ts_l2norm_lse_rows(const ts_l2norm_args *a)
{
    for (int64_t th = 0; th < a->T * a->H; th++) {
        const ts_real *x = a->x + th * a->D, eps = (ts_real)a->eps;
        ts_real *y = a->y + th * a->D, sum = 0;
        for (int64_t i = 0; i < a->D; i++)
            sum = ts_fma(x[i], x[i], sum);
        const ts_real root = ts_sqrt(sum), inverse = 1 / (root > eps ? root : eps);
        for (int64_t i = 0; i < a->D; i++)
            y[i] = (x[i] * inverse) * (ts_real)a->scale;
    }
}
