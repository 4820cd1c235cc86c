#include "op.h"

/* The kernel of row t, tap w at channel c: what all rows share and what the row's projection adds. */
static ts_real coefficient(const ts_grouped_conv_args *a, int64_t t, int64_t w, int64_t c)
{
    const int64_t groups = a->C / a->group, tap = a->side * a->W + w;
    return a->base[tap * a->C + c] + a->delta[(t * 2 * a->W + tap) * groups + c / a->group];
}

/* y_tc = sum_{w=0..W-1} (base_wc + delta_tw,c/group) x_{t-w, c}: causal in blocks of `block` rows, the kernel made
 * per row; the convolution of DFlash2 before (side 0) and after (side 1) a sublayer.
 * x, y [T,C], y not x; base [2,W,C], delta [T,2,W,C/group]: side, tap. A row before the block's first is absent,
 * not multiplied by zero, and a last block may be short. Rounded: base + delta, every product and every sum, the
 * tap of the row itself first, then ever older ones; no fma. */
void ts_grouped_conv(const ts_grouped_conv_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t c = 0; c < a->C; c++) {
            ts_real y = coefficient(a, t, 0, c) * a->x[t * a->C + c];
            for (int64_t w = 1; w < a->W && w <= t % a->block; w++)
                y = y + coefficient(a, t, w, c) * a->x[(t - w) * a->C + c];
            a->y[t * a->C + c] = y;
        }
}
