#include "op.h"

/* sum_i x_i^2 as ggml adds it: every square rounded, then ascending in double, in both precisions.
 * x [n]. Source: ggml, ggml_compute_forward_rms_norm_f32. */
double ts_squares_ggml(const ts_real *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        ts_real square = x[i] * x[i];
        sum += (double)square;
    }
    return sum;
}
