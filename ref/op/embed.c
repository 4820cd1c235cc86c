#include "weight.h"

/* y_t = row id_t of w, widened (MLX: fma(scale, code, bias)). id [T], every one in 0..V-1;
 * w [V,C]; y [T,C]. Rounded: the MLX fma. */
void ts_embed(const ts_embed_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        ts_weight_run(a->w, a->id[t], 0, a->C, a->y + t * a->C);
}
