#include "op.h"

/* Rotation by position, half-split: for i < R/2
 *   y_i       = x_i c_i - x_{i+R/2} s_i
 *   y_{i+R/2} = x_{i+R/2} c_i + x_i s_i
 * and y_i = x_i for i >= R. x, y [T,H,D] (may be the same array); cos, sin [T,R/2]: the rows of the
 * tables at each position. Rounded: every product, then the sum; no fma. */
void ts_rope(const ts_rope_args *a)
{
    const int64_t half = a->R / 2;
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t h = 0; h < a->H; h++) {
            const ts_real *x = a->x + (t * a->H + h) * a->D;
            ts_real *y = a->y + (t * a->H + h) * a->D;
            for (int64_t i = 0; i < half; i++) {
                ts_real c = a->cos[t * half + i], s = a->sin[t * half + i];
                ts_real lower = x[i], upper = x[i + half];
                y[i] = lower * c - upper * s;
                y[i + half] = upper * c + lower * s;
            }
            for (int64_t i = a->R; i < a->D; i++)
                y[i] = x[i];
        }
}
