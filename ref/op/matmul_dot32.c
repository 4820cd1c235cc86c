#include "lanes.h"
#include "weight.h"

/* Rows of x that share one widened piece of a weight row; each has lanes of its own. */
enum { ROWS = 8 };

/* y_{t0+t, n}, t < count: the rows meet the same 32 widened weights in turn. */
static void rows(const ts_matmul_args *a, int64_t n, int64_t t0, int64_t count)
{
    ts_real lane[ROWS][TS_LANES] = {{0}}, w[TS_LANES];
    for (int64_t k = 0; k < a->K; k += TS_LANES) {
        int64_t piece = ts_piece(a->K - k, TS_LANES);
        ts_weight_run(a->w, n, k, piece, w);
        for (int64_t t = 0; t < count; t++)
            ts_lanes_fma(lane[t], a->x + (t0 + t) * a->K + k, w, piece);
    }
    for (int64_t t = 0; t < count; t++)
        a->y[(t0 + t) * a->N + n] = ts_lanes_sum(lane[t]);
}

/* y_tn = sum_k x_tk w_nk in order dot32, w widened first (MLX: fma(scale, code, bias)).
 * x [T,K]; w [N,K]; y [T,N]. Rounded: the MLX fma, then as dot32. */
void ts_matmul_dot32(const ts_matmul_args *a)
{
    for (int64_t n = 0; n < a->N; n++)
        for (int64_t t = 0; t < a->T; t += ROWS)
            rows(a, n, t, ts_piece(a->T - t, ROWS));
}
