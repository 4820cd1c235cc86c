#include "a64.h"
#include "lanes.h"

enum { GROUP = TS_A64_GROUP, SLICES = 8, ROWS = 8 };

/* Group g of weight row n joins the accumulators of `count` rows from t0:
 * o_t = o_t + (s step_tg) D_tg + b sum_tg */
static void group(const ts_matmul_a64s8_args *a, int64_t n, int64_t g, int64_t t0, int64_t count, ts_real o[ROWS])
{
    const int64_t G = a->K / GROUP;
    const ts_real s = ts_mlx_scale(a->w, n, g), b = ts_mlx_bias(a->w, n, g);
    int32_t u[GROUP];
    ts_a64_codes(a->w, n, g, u);
    for (int64_t t = 0; t < count; t++) {
        int64_t run = (t0 + t) * G + g;
        ts_real D = (ts_real)ts_a64_dot(u, a->code + GROUP * run);
        o[t] = ts_fma(b, a->sum[run], ts_fma(s * a->step[run], D, o[t]));
    }
}

/* y_{t0+t, n}, t < count <= ROWS */
static void rows(const ts_matmul_a64s8_args *a, int64_t n, int64_t t0, int64_t count)
{
    const int64_t G = a->K / GROUP;
    ts_real o[SLICES][ROWS] = {{0}};
    int64_t S = 1;
    while (2 * S <= ts_piece(G, SLICES))
        S *= 2;
    for (int64_t z = 0; z < S; z++)
        for (int64_t g = z * G / S; g < (z + 1) * G / S; g++)
            group(a, n, g, t0, count, o[z]);
    for (int64_t step = 1; step < S; step *= 2)
        for (int64_t z = 0; z < S; z += 2 * step)
            for (int64_t t = 0; t < count; t++)
                o[z][t] = o[z][t] + o[z + step][t];
    for (int64_t t = 0; t < count; t++)
        a->y[(t0 + t) * a->N + n] = o[0][t];
}

/* y_tn = sum_k x_tk w_nk with x as quantize_a64 left it and w = s u + b in groups of 64:
 *
 *   y = sum over groups of (s step) (sum_k u_k code_k) + b sum
 *
 * in order A64S8: S = the largest power of two <= min(8, K/64) slices of consecutive groups, each
 * ascending from +0, merged as a balanced tree. The inner sum is exact in integers and in f32.
 * code [T,K]; step, sum [T,K/64]; w [N,K] MLX, group 64, 4 or 8 bits; y [T,N].
 * Rounded: s step, the two fma of every group, the sums of the tree. */
void ts_matmul_a64s8(const ts_matmul_a64s8_args *a)
{
    for (int64_t n = 0; n < a->N; n++)
        for (int64_t t = 0; t < a->T; t += ROWS)
            rows(a, n, t, ts_piece(a->T - t, ROWS));
}
