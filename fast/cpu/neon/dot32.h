/* Order dot32 on vectors: 32 lanes are CHAINS vectors. */
#ifndef TS_FAST_NEON_DOT32_H
#define TS_FAST_NEON_DOT32_H

#include <math.h>
#include "cpu/neon/neon.h"

enum { CHAINS = 2 * STRIPS };

/* Lanes l + 16 to lanes l, then the butterfly. */
static inline float v_lanes_sum(const vec s[CHAINS])
{
    vec t[STRIPS];
    for (int i = 0; i < STRIPS; i++)
        t[i] = v_add(s[i], s[i + STRIPS]);
    return v_tree(t);
}

/* fma in the first n lanes; the others keep c, which may be -0. */
static inline vec v_fma_first(int64_t n, vec a, vec b, vec c)
{
    return v_select(v_first(n), v_fma(a, b, c), c);
}

/* x.x */
static inline float v_square32(const float *x, int64_t n)
{
    vec s[CHAINS];
    int64_t k = 0;
    for (int i = 0; i < CHAINS; i++)
        s[i] = v_all(0.0f);
    for (; k + CHAINS * VEC <= n; k += CHAINS * VEC)
        for (int i = 0; i < CHAINS; i++) {
            vec v = v_load(x + k + i * VEC);
            s[i] = v_fma(v, v, s[i]);
        }
    for (int i = 0; i < CHAINS && k < n; i++, k += VEC) {
        int64_t left = n - k;
        vec v = left < VEC ? v_load_first(x + k, left) : v_load(x + k);
        s[i] = v_fma_first(left, v, v, s[i]);
    }
    return v_lanes_sum(s);
}

#endif
