/* Row n of a matrix as f32. MLX rows and blocks go through the portable widening, which is bound by its unpacking.
 */
#ifndef TS_FAST_VECTOR_WIDEN_ROW_H
#define TS_FAST_VECTOR_WIDEN_ROW_H

#include "cpu/portable/widen.h"

static void v_widen_row(const ts_matrix *w, int64_t n, float *y)
{
    const uint16_t *half = (const uint16_t *)w->data + n * w->K;
    if (w->format == TS_W_BF16)
        for (int64_t i = 0; i < w->K; i += VEC)
            v_store_some(y + i, v_first(w->K - i), v_load_some_bf16(half + i, v_first(w->K - i)));
    else if (w->format == TS_W_F16)
        for (int64_t i = 0; i < w->K; i += VEC)
            v_store_some(y + i, v_first(w->K - i), v_load_some_f16(half + i, v_first(w->K - i)));
    else
        ts_widen(w, n, 0, w->K, y);
}

#endif
