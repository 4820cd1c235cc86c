#include "op.h"

/* rope as torch runs it on bf16: for i < R/2, m = round_bf16,
 *   y_i = m(x_i c_i) - m(x_{i+R/2} s_i),  y_{i+R/2} = m(x_{i+R/2} c_i) + m(x_i s_i)
 * and y_i = x_i for i >= R. Shapes as rope. Rounded: every product and m, then the sum.
 * Source: transformers 5.17, apply_rotary_pos_emb: x * cos + rotate_half(x) * sin. */
void ts_rope_bf16(const ts_rope_args *a)
{
    const int64_t half = a->R / 2;
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t h = 0; h < a->H; h++) {
            const ts_real *x = a->x + (t * a->H + h) * a->D;
            ts_real *y = a->y + (t * a->H + h) * a->D;
            for (int64_t i = 0; i < half; i++) {
                ts_real c = a->cos[t * half + i], s = a->sin[t * half + i];
                ts_real lower = x[i], upper = x[i + half];
                y[i] = ts_round_bf16(lower * c) - ts_round_bf16(upper * s);
                y[i + half] = ts_round_bf16(upper * c) + ts_round_bf16(lower * s);
            }
            for (int64_t i = a->R; i < a->D; i++)
                y[i] = x[i];
        }
}
