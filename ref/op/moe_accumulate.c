#include "op.h"

/* y = sum_e weight_e x_e over the experts with a weight, ascending by id.
 * weight [T,E]; x [T,E,C], of which rows with weight 0 are not looked at; y [T,C]. Rounded: one fma per expert,
 * from +0. */
void ts_moe_accumulate(const ts_moe_accumulate_args *a)
{
    for (int64_t t = 0; t < a->T; t++) {
        ts_real *y = a->y + t * a->C;
        for (int64_t c = 0; c < a->C; c++)
            y[c] = 0;
        for (int64_t e = 0; e < a->E; e++) {
            const ts_real weight = a->weight[t * a->E + e], *x = a->x + (t * a->E + e) * a->C;
            for (int64_t c = 0; weight != 0 && c < a->C; c++)
                y[c] = ts_fma(weight, x[c], y[c]);
        }
    }
}
