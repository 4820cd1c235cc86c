/* What attention needs of a softmax, over one row's scores in one partition. */
#ifndef TS_FAST_VECTOR_SOFTMAX_H
#define TS_FAST_VECTOR_SOFTMAX_H

#include "cpu/vector/elementary.h"

/* The largest score, -inf for none but NaN; of zeros the first. */
static inline float largest(const float *s, int n)
{
    vec m = v_all(-INFINITY);
    int i = 0;
    for (; i + VEC <= n; i += VEC)
        m = v_max(v_load(s + i), m);
    if (i < n)
        m = v_select(v_first(n - i), v_max(v_load_some(s + i, v_first(n - i)), m), m);
    float y = v_largest(m);
    if (y != 0.0f)
        return y;
    for (i = 0; s[i] != 0.0f; i++)
        ;
    return s[i];
}

static inline float exponential(float x)
{
    float y[VEC];
    v_store(y, v_exp(v_all(x)));
    return y[0];
}

static inline void exponentials(float *s, int n, float m)
{
    int i = 0;
    for (; i + VEC <= n; i += VEC)
        v_store(s + i, v_exp(v_sub(v_load(s + i), v_all(m))));
    if (i < n) {
        vmask some = v_first(n - i);
        v_store_some(s + i, some, v_exp(v_sub(v_load_some(s + i, some), v_all(m))));
    }
}

static inline float sum(float l, const float *w, int from, int to)
{
    for (int i = from; i < to; i++)
        l += w[i];
    return l;
}

#endif
