#include "op.h"

/* gated_norm as torch runs it on bf16: n_i = m(x_i r), n_i = m(w_i n_i), y_i = n_i silu(z_i), m = round_bf16.
 * x, z, y [T,H,D]; w [D]. Rounded: r as in rmsnorm, x r and m, the product with w and m, silu, the product with it.
 * Source: transformers 5.17, Qwen3_5RMSNormGated. */
void ts_gated_norm_bf16(const ts_gated_norm_args *a)
{
    for (int64_t th = 0; th < a->T * a->H; th++) {
        const ts_real *x = a->x + th * a->D, *z = a->z + th * a->D;
        ts_real *y = a->y + th * a->D;
        ts_real r = ts_rsqrt(ts_dot32(x, x, a->D) / (ts_real)a->D + (ts_real)a->eps);
        for (int64_t i = 0; i < a->D; i++) {
            ts_real n = ts_round_bf16(x[i] * r);
            y[i] = ts_round_bf16(a->w[i] * n) * ts_silu(z[i]);
        }
    }
}
