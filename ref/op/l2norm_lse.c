#include "lse.h"

/* y = (x / max(|x|, eps)) scale, as LSE norms q and k for a single row: eps is a floor of the norm, not a term
 * under the root. x, y [T,H,D]. Lane l sums the squares of columns l, l+32, ...; the butterfly has masks 1, 2, 4,
 * 8, 16. Rounded: every fma and sum, the root, its reciprocal, the product with x, the product with scale. */
void ts_l2norm_lse(const ts_l2norm_args *a)
{
    for (int64_t th = 0; th < a->T * a->H; th++) {
        const ts_real *x = a->x + th * a->D;
        ts_real *y = a->y + th * a->D, lane[TS_LANES] = {0};
        for (int64_t i = 0; i < a->D; i++)
            lane[i % TS_LANES] = ts_fma(x[i], x[i], lane[i % TS_LANES]);
        const ts_real root = ts_sqrt(ts_butterfly(lane, TS_LANES)), eps = (ts_real)a->eps;
        const ts_real inverse = 1 / (root > eps ? root : eps);
        for (int64_t i = 0; i < a->D; i++)
            y[i] = (x[i] * inverse) * (ts_real)a->scale;
    }
}
