#include "lse.h"
#include "op.h"
#include "weight.h"

/* x . w over the chunks of one lane, a word of weights each, k ascending */
static ts_real lane_sum(const ts_matmul_args *a, const ts_real *x, int64_t n, int lane)
{
    const int64_t size = 32 / a->w->bits;
    ts_real sum = 0, w[TS_LANES];
    for (int64_t i = 0, count, c; (count = ts_lse_piece(0, a->K / size, lane, i, &c)) > 0; i++) {
        ts_weight_run(a->w, n, size * c, size * count, w);
        for (int64_t k = 0; k < size * count; k++)
            sum = ts_fma(x[size * c + k], w[k], sum);
    }
    return sum;
}

/* y_tn = sum_k x_tk w_nk, w widened, order EX: 32 lanes from +0, each over its chunks (lse.h), then the butterfly
 * over the lanes. A chunk is a word of weights: 8 values of 4 bits, 4 of 8.
 * x [T,K]; w [N,K] MLX, group 64, 4 or 8 bits; y [T,N]. Rounded: every weight, an fma per k, the sums of the
 * butterfly. Source: the R9700 engine LSE, its kernels without codes; 8 bits are inferred from 4. */
void ts_matmul_lse_ex(const ts_matmul_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t n = 0; n < a->N; n++) {
            ts_real lane[TS_LANES];
            for (int l = 0; l < TS_LANES; l++)
                lane[l] = lane_sum(a, a->x + t * a->K, n, l);
            a->y[t * a->N + n] = ts_butterfly(lane, TS_LANES);
        }
}
