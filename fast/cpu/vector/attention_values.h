/* The second half of attention: a block's weighted sum of the values of one run. */
#ifndef TS_FAST_VECTOR_ATTENTION_VALUES_H
#define TS_FAST_VECTOR_ATTENTION_VALUES_H

#include "cpu/vector/attention_block.h"

/* acc = chain over keys i .. end, for rows that see them all, or the rows that do. */
UNROLLED void chain(const group *g, const block *b, const part *w, int64_t c, vmask m, int i, int end, int R, int C,
                    int whole, int all, int dtype, const char *next, vec *acc)
{
    const void *v = g->a->kv.v;
    for (; i < end; i++) {
        vec x[ROWS];
        int64_t at = g->at[i] + b->head + c;
        if (all)
            fetch(next + i % RUN * C * VEC * size_of(dtype), C * VEC * size_of(dtype));
        for (int k = 0; k < C; k++)
            x[k] = whole ? load(v, at + k * VEC, dtype) : load_some(v, at, m, dtype);
        for (int r = 0; r < R; r++)
            if (all || (w->from[r] <= i && i < w->to[r]))
                for (int k = 0; k < C; k++)
                    acc[r * C + k] = v_fma(v_all(w->w[r][i]), x[k], acc[r * C + k]);
    }
}

static inline int between(int low, int x, int high)
{
    return x < low ? low : x > high ? high : x;
}

/* C vectors of channels, from c on: the sums go on over the keys from .. to. Unless `whole`, C is 1 and has the
 * lanes of m. */
UNROLLED void columns(const group *g, block *b, const part *w, int from, int to, int64_t c, vmask m, int R, int C,
                      int whole, int dtype)
{
    const int64_t stride = padded(g->a->D);
    const int one = between(from, w->all_from, to), two = between(from, w->all_to, to);
    const char *next = (const char *)g->a->kv.v + (g->next + c * RUN) * size_of(dtype);
    vec acc[ACCUMULATORS];
    for (int r = 0; r < R; r++)
        for (int k = 0; k < C; k++)
            acc[r * C + k] = v_load(b->acc + r * stride + c + k * VEC);
    chain(g, b, w, c, m, from, one, R, C, whole, 0, dtype, next, acc);
    chain(g, b, w, c, m, one, two, R, C, whole, 1, dtype, next, acc);
    chain(g, b, w, c, m, two, to, R, C, whole, 0, dtype, next, acc);
    for (int r = 0; r < R; r++)
        for (int k = 0; k < C; k++)
            v_store(b->acc + r * stride + c + k * VEC, acc[r * C + k]);
}

UNROLLED void values(const group *g, block *b, const part *w, int from, int to, int R, int dtype)
{
    const int C = ACCUMULATORS / R > 8 ? 8 : ACCUMULATORS / R;
    int64_t c = 0;
    for (; c + C * VEC <= g->a->D; c += C * VEC)
        columns(g, b, w, from, to, c, v_first(VEC), R, C, 1, dtype);
    for (; c < g->a->D; c += VEC)
        columns(g, b, w, from, to, c, v_first(g->a->D - c), R, 1, 0, dtype);
}

static inline void values_rows(const group *g, block *b, const part *w, int from, int to, int dtype)
{
    switch (b->R) {
    case 1:
        values(g, b, w, from, to, 1, dtype);
        break;
    case 2:
        values(g, b, w, from, to, 2, dtype);
        break;
    case 4:
        values(g, b, w, from, to, 4, dtype);
        break;
    case 6:
        values(g, b, w, from, to, 6, dtype);
        break;
    default:
        values(g, b, w, from, to, ROWS, dtype);
    }
}

static void values_run(const group *g, block *b, const part *w, int from, int to)
{
    if (g->a->kv.dtype == TS_KV_BF16)
        values_rows(g, b, w, from, to, TS_KV_BF16);
    else if (g->a->kv.dtype == TS_KV_F16)
        values_rows(g, b, w, from, to, TS_KV_F16);
    else
        values_rows(g, b, w, from, to, TS_KV_REAL);
}

#endif
