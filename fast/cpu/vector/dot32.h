/* Order dot32 on vectors: STRIPS strips of VEC lanes and of the VEC lanes 16 further on, one strip at a time, then
 * the tree. */
#ifndef TS_FAST_VECTOR_DOT32_H
#define TS_FAST_VECTOR_DOT32_H

#include <stdint.h>

/* fma in the lanes of m; the others keep c, which may be -0. */
static inline vec v_fma_some(vmask m, vec a, vec b, vec c)
{
    return v_select(m, v_fma(a, b, c), c);
}

/* All strips at once: one dot alone has no other chains to hide the latency with. */
static inline float v_dot32(const float *a, const float *b, int64_t n)
{
    vec s[2 * STRIPS], t[STRIPS];
    int64_t k = 0;
    for (int i = 0; i < 2 * STRIPS; i++)
        s[i] = v_all(0.0f);
    for (; k + 32 <= n; k += 32)
        for (int i = 0; i < 2 * STRIPS; i++)
            s[i] = v_fma(v_load(a + k + i * VEC), v_load(b + k + i * VEC), s[i]);
    for (int i = 0; i < 2 * STRIPS && k + i * VEC < n; i++) {
        vmask m = v_first(n - k - i * VEC);
        s[i] = v_fma_some(m, v_load_some(a + k + i * VEC, m), v_load_some(b + k + i * VEC, m), s[i]);
    }
    for (int i = 0; i < STRIPS; i++)
        t[i] = v_add(s[i], s[i + STRIPS]);
    return v_tree(t);
}

#endif
