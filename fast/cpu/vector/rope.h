/* The body of rope.c of every isa, whose header comes first. */
#include <string.h>

/* Lanes m of the pairs (x[0], x[half]). */
static inline void turn(const float *x, const float *cos, const float *sin, int64_t half, vmask m, float *y)
{
    vec x0 = v_load_some(x, m), x1 = v_load_some(x + half, m);
    vec c = v_load_some(cos, m), s = v_load_some(sin, m);
    v_store_some(y, m, v_sub(v_mul(x0, c), v_mul(x1, s)));
    v_store_some(y + half, m, v_add(v_mul(x1, c), v_mul(x0, s)));
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_rope_args *a = args;
    int64_t half = a->R / 2;
    for (int64_t u = begin; u < end; u++) {
        const float *x = a->x + u * a->D;
        const float *c = a->cos + u / a->H * half, *s = a->sin + u / a->H * half;
        float *y = a->y + u * a->D;
        for (int64_t i = 0; i < half; i += VEC)
            turn(x + i, c + i, s + i, half, v_first(half - i), y + i);
        memmove(y + a->R, x + a->R, (size_t)(a->D - a->R) * sizeof *y);
    }
}
