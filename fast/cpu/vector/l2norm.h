/* The body of l2norm.c of every isa, whose header comes first. */
#include "cpu/vector/norm.h"

static void norm(const ts_l2norm_args *a, const float *x, float *y)
{
    vec r = v_all(v_sum_norm(x, a->D, a->eps)), scale = v_all((float)a->scale);
    int64_t i = 0, D = a->D;
    for (; i + VEC <= D; i += VEC)
        v_store(y + i, v_mul(v_mul(v_load(x + i), r), scale));
    if (i < D) {
        vmask m = v_first(D - i);
        v_store_some(y + i, m, v_mul(v_mul(v_load_some(x + i, m), r), scale));
    }
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_l2norm_args *a = args;
    for (int64_t u = begin; u < end; u++)
        norm(a, a->x + u * a->D, a->y + u * a->D);
}
