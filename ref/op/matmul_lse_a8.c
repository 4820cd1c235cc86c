#include "lse.h"
#include "op.h"

enum { CHUNK = 8, CHUNKS = 8 }; /* values of a chunk, chunks of a group */

/* (sum of u code over chunk c) step, added to p; the sum is exact */
static ts_real chunk(const ts_matmul_lse_a8_args *a, int64_t t, int64_t n, int64_t c, ts_real p)
{
    const int8_t *code = a->code + t * a->K + CHUNK * c;
    int32_t D = 0;
    for (int i = 0; i < CHUNK; i++)
        D += (int32_t)ts_mlx_code(a->w, n, CHUNK * c + i) * code[i];
    return ts_fma(a->step[t * (a->K / CHUNK) + c], (ts_real)D, p);
}

/* What one lane adds up: split after split its chunks, then its groups' biases. */
static ts_real lane_sum(const ts_matmul_lse_a8_args *a, int64_t t, int64_t n, int lane)
{
    const int64_t G = a->K / (CHUNK * CHUNKS), size = CHUNKS * (G / a->S);
    ts_real sum = 0;
    for (int64_t cb = 0, c; cb < CHUNKS * G; cb += size) {
        for (int64_t i = 0, count; (count = ts_lse_piece(cb, cb + size, lane, i, &c)) > 0; i++) {
            ts_real p = 0;
            for (int64_t j = 0; j < count; j++)
                p = chunk(a, t, n, c + j, p);
            sum = ts_fma(ts_mlx_scale(a->w, n, c / CHUNKS), p, sum);
        }
        for (int64_t g = cb / CHUNKS + lane; g < (cb + size) / CHUNKS; g += TS_LANES)
            sum = ts_fma(ts_mlx_bias(a->w, n, g), a->sum[t * G + g], sum);
    }
    return sum;
}

/* y_tn = sum_k x_tk w_nk with x as quantize_lse_a8 left it and w = s u + b in groups of 64, order A8: 32 lanes from
 * +0; K in S equal splits, in each a lane adds its chunks of 8 (lse.h), those of one piece first,
 *
 *   p = sum over the piece of step D,   lane = lane + s p,   D = sum of u code over a chunk, exact
 *
 * then b sum for every 32nd group; at the end the butterfly over the lanes.
 * code [T,K]; step [T,K/8]; sum [T,K/64]; w [N,K] MLX, group 64, 4 bits; y [T,N]. Rounded: every fma, the sums of
 * the butterfly. Source: the R9700 engine LSE, DOT4; S follows from K and the rows of a workgroup
 * (ts_lse_splits), so the same row has other bits beside another number of rows. */
void ts_matmul_lse_a8(const ts_matmul_lse_a8_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t n = 0; n < a->N; n++) {
            ts_real lane[TS_LANES];
            for (int l = 0; l < TS_LANES; l++)
                lane[l] = lane_sum(a, t, n, l);
            a->y[t * a->N + n] = ts_butterfly(lane, TS_LANES);
        }
}
