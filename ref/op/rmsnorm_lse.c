#include "lse.h"

/* rmsnorm with the sum of squares as the R9700 engine LSE orders it (lse.h): y = x r g, g = 1 + w if centred, else
 * w. x, y [T,n]; w [n]. Rounded: every fma of the partial sums, the folds, the mean, the sum with eps, the root and
 * its reciprocal (a single instruction there), x r, 1 + w, the product. */
void ts_rmsnorm_lse(const ts_rmsnorm_args *a)
{
    for (int64_t t = 0; t < a->T; t++) {
        const ts_real *x = a->x + t * a->n;
        ts_real *y = a->y + t * a->n, r = ts_lse_root_mean(x, a->n, a->eps);
        for (int64_t i = 0; i < a->n; i++)
            y[i] = (x[i] * r) * (a->centred ? 1 + a->w[i] : a->w[i]);
    }
}
