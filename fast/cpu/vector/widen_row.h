/* Row n of a matrix as f32. MLX rows and blocks go through the portable widening, which is bound by its unpacking.
 */
#ifndef TS_FAST_VECTOR_WIDEN_ROW_H
#define TS_FAST_VECTOR_WIDEN_ROW_H

#include "cpu/portable/widen.h"

static void v_widen_bf16_row(const uint16_t *w, int64_t K, float *y)
{
    int64_t i = 0;
    for (; i + VEC <= K; i += VEC)
        v_store(y + i, v_load_bf16(w + i));
    if (i < K)
        v_store_some(y + i, v_first(K - i), v_load_some_bf16(w + i, v_first(K - i)));
}

static void v_widen_f16_row(const uint16_t *w, int64_t K, float *y)
{
    int64_t i = 0;
    for (; i + VEC <= K; i += VEC)
        v_store(y + i, v_load_f16(w + i));
    if (i < K)
        v_store_some(y + i, v_first(K - i), v_load_some_f16(w + i, v_first(K - i)));
}

static void v_widen_row(const ts_matrix *w, int64_t n, float *y)
{
    const uint16_t *half = (const uint16_t *)w->data + n * w->K;
    if (w->format == TS_W_BF16)
        v_widen_bf16_row(half, w->K, y);
    else if (w->format == TS_W_F16)
        v_widen_f16_row(half, w->K, y);
    else
        ts_widen(w, n, 0, w->K, y);
}

#endif
