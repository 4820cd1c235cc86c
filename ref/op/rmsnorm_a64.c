#include "op.h"

enum { RUN = 64 };

/* y = rmsnorm(x), code, step, sum = quantize_a64(y), a run of 64 at a time.
 * x [T,n], w [n], code [T,n], step and sum [T,n/64], y [T,n] or NULL. Rounded as in the two operations. */
void ts_rmsnorm_a64(const ts_rmsnorm_a64_args *a)
{
    for (int64_t t = 0; t < a->T; t++) {
        const ts_real *x = a->x + t * a->n;
        ts_real r = ts_rsqrt(ts_dot32(x, x, a->n) / (ts_real)a->n + (ts_real)a->eps), y[RUN];
        for (int64_t i = 0; i < a->n; i += RUN) {
            int64_t run = (t * a->n + i) / RUN;
            for (int64_t j = 0; j < RUN; j++)
                y[j] = (x[i + j] * r) * (a->centred ? 1 + a->w[i + j] : a->w[i + j]);
            ts_quantize_a64(&(ts_quantize_a64_args){1, RUN, y, a->code + run * RUN, a->step + run, a->sum + run});
            for (int64_t j = 0; a->y && j < RUN; j++)
                a->y[run * RUN + j] = y[j];
        }
    }
}
