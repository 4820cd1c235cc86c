/* Elementwise operations: a function of one vector, or of two, over the units. The function is inlined. */
#ifndef TS_FAST_VECTOR_MAP_H
#define TS_FAST_VECTOR_MAP_H

#include "case/args.h"

static inline void v_map(const ts_map_args *a, int64_t begin, int64_t end, vec (*f)(vec))
{
    const float *x = a->x;
    float *y = a->y;
    int64_t i = begin;
    for (; i + VEC <= end; i += VEC)
        v_store(y + i, f(v_load(x + i)));
    if (i < end) {
        vmask m = v_first(end - i);
        v_store_some(y + i, m, f(v_load_some(x + i, m)));
    }
}

static inline void v_zip(const ts_zip_args *args, int64_t begin, int64_t end, vec (*f)(vec, vec))
{
    const float *a = args->a, *b = args->b;
    float *y = args->y;
    int64_t i = begin;
    for (; i + VEC <= end; i += VEC)
        v_store(y + i, f(v_load(a + i), v_load(b + i)));
    if (i < end) {
        vmask m = v_first(end - i);
        v_store_some(y + i, m, f(v_load_some(a + i, m), v_load_some(b + i, m)));
    }
}

#endif
