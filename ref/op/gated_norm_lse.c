#include "lse.h"

/* gated_norm with the norm of rmsnorm_lse and silu_lse: y = ((x r) w) silu(z), per head. x, z, y [T,H,D]; w [D].
 * Rounded: as in rmsnorm_lse, then silu and the product with it. */
void ts_gated_norm_lse(const ts_gated_norm_args *a)
{
    for (int64_t th = 0; th < a->T * a->H; th++) {
        const ts_real *x = a->x + th * a->D, *z = a->z + th * a->D;
        ts_real *y = a->y + th * a->D, r = ts_lse_root_mean(x, a->D, a->eps);
        for (int64_t i = 0; i < a->D; i++)
            y[i] = ((x[i] * r) * a->w[i]) * ts_silu_lse(z[i]);
    }
}
