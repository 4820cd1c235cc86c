/* The body of gated_norm.c of every isa, whose header comes first. */
#include "cpu/vector/elementary.h"
#include "cpu/vector/norm.h"

static void norm(const ts_gated_norm_args *a, const float *x, const float *z, float *y)
{
    const float *w = a->w;
    vec r = v_all(v_mean_norm(x, a->D, a->eps));
    int64_t i = 0, D = a->D;
    for (; i + VEC <= D; i += VEC)
        v_store(y + i, v_mul(v_mul(v_mul(v_load(x + i), r), v_load(w + i)), v_silu(v_load(z + i))));
    if (i < D) {
        vmask m = v_first(D - i);
        vec scaled = v_mul(v_mul(v_load_some(x + i, m), r), v_load_some(w + i, m));
        v_store_some(y + i, m, v_mul(scaled, v_silu(v_load_some(z + i, m))));
    }
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_gated_norm_args *a = args;
    for (int64_t u = begin; u < end; u++)
        norm(a, a->x + u * a->D, a->z + u * a->D, a->y + u * a->D);
}
