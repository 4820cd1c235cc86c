#include "op.h"

enum { GROUP = 64 };

/* qkv = x w^T (matmul_a64s8), y = conv1d(qkv), a channel and a token at a time.
 * code [T,K]; step, sum [T,K/64]; w [C,K]; taps, state [C,W]; y [T,C]; qkv [T,C] or NULL. Rounded as in the
 * two operations. */
void ts_qkv_conv_a64s8(const ts_qkv_conv_a64s8_args *a)
{
    const int64_t G = a->K / GROUP;
    for (int64_t c = 0; c < a->C; c++) {
        const ts_matrix row = ts_matrix_rows(a->w, c, 1);
        for (int64_t t = 0; t < a->T; t++) {
            ts_real x;
            ts_matmul_a64s8(
                &(ts_matmul_a64s8_args){1, 1, a->K, a->code + t * a->K, a->step + t * G, a->sum + t * G, &row, &x});
            ts_conv1d(
                &(ts_conv1d_args){1, 1, a->W, &x, a->taps + c * a->W, a->state + c * a->W, a->y + t * a->C + c});
            if (a->qkv)
                a->qkv[t * a->C + c] = x;
        }
    }
}
