#include "op.h"

enum { GROUP = 64, EIGHT = 8 };

/* The operands as the unit's slots get them, per aligned eight of k */
static const int slot[EIGHT] = {0, 4, 1, 5, 2, 6, 3, 7};

/* The weights of group g of row n: h(h(u h(s)) + h(b)) */
static void weights(const ts_matrix *w, int64_t n, int64_t g, ts_real out[GROUP])
{
    const ts_real s = ts_round_f16(ts_mlx_scale(w, n, g)), b = ts_round_f16(ts_mlx_bias(w, n, g));
    for (int k = 0; k < GROUP; k++)
        out[k] = ts_round_f16(ts_round_f16((ts_real)ts_mlx_code(w, n, GROUP * g + k) * s) + b);
}

/* Groups first .. end-1 of x . w, one chain */
static ts_real slice(const ts_matmul_lse_f16_args *a, int64_t t, int64_t n, int64_t first, int64_t end)
{
    ts_real sum = 0, w[GROUP];
    for (int64_t g = first; g < end; g++) {
        const ts_real *x = a->x + t * a->K + GROUP * g;
        weights(a->w, n, g, w);
        for (int k = 0; k < GROUP; k += EIGHT)
            for (int i = 0; i < EIGHT; i++)
                sum = ts_fma(ts_round_f16(x[k + slot[i]]), w[k + slot[i]], sum);
    }
    return sum;
}

/* y_tn = sum_k h(x_tk) w_nk, h = round_f16, w = h(h(u h(s)) + h(b)), order F16: K in S equal slices, in each one
 * chain from +0 over k ascending but for the slots of every eight, k0 k4 k1 k5 k2 k6 k3 k7; the slices are added
 * ascending.
 * x [T,K]; w [N,K] MLX, group 64, 4 or 8 bits; y [T,N]. Rounded: h; an fma per k; the sums of slices. u h(s) and
 * the sum with h(b) are rounded once, to f16 (an f32 between holds the first exactly, and is wide enough for the
 * second). A step of the unit is d = c + 16 products, as in attention_wmma 16 fma in the order of the slots: what
 * silicon does inside a step is not documented. Source: the R9700 engine LSE from v0.5.4 on; S as ts_lse_slices. */
void ts_matmul_lse_f16(const ts_matmul_lse_f16_args *a)
{
    const int64_t size = a->K / GROUP / a->S;
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t n = 0; n < a->N; n++) {
            ts_real y = slice(a, t, n, 0, size);
            for (int64_t z = 1; z < a->S; z++)
                y = y + slice(a, t, n, z * size, (z + 1) * size);
            a->y[t * a->N + n] = y;
        }
}
