/* The body of embed.c of every isa, whose header comes first. MLX rows go through the portable widening, which is
 * bound by its unpacking. */
#include "cpu/portable/widen.h"

static void row_bf16(const uint16_t *w, int64_t C, float *y)
{
    for (int64_t i = 0; i < C; i += VEC)
        v_store_some(y + i, v_first(C - i), v_load_some_bf16(w + i, v_first(C - i)));
}

static void row_f16(const uint16_t *w, int64_t C, float *y)
{
    for (int64_t i = 0; i < C; i += VEC)
        v_store_some(y + i, v_first(C - i), v_load_some_f16(w + i, v_first(C - i)));
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_embed_args *a = args;
    for (int64_t t = begin; t < end; t++) {
        const uint16_t *half = (const uint16_t *)a->w->data + a->id[t] * a->C;
        if (a->w->format == TS_W_BF16)
            row_bf16(half, a->C, a->y + t * a->C);
        else if (a->w->format == TS_W_F16)
            row_f16(half, a->C, a->y + t * a->C);
        else
            ts_widen(a->w, a->id[t], 0, a->C, a->y + t * a->C);
    }
}
