/* The body of rmsnorm.c of every isa, whose header comes first. */
#include "cpu/vector/norm.h"

static inline vec gain(vec w, int64_t centred)
{
    return centred ? v_add(v_all(1.0f), w) : w;
}

static void norm(const ts_rmsnorm_args *a, const float *x, float *y)
{
    const float *w = a->w;
    vec r = v_all(v_mean_norm(x, a->n, a->eps));
    int64_t i = 0, n = a->n, centred = a->centred;
    for (; i + VEC <= n; i += VEC)
        v_store(y + i, v_mul(v_mul(v_load(x + i), r), gain(v_load(w + i), centred)));
    if (i < n) {
        vmask m = v_first(n - i);
        v_store_some(y + i, m, v_mul(v_mul(v_load_some(x + i, m), r), gain(v_load_some(w + i, m), centred)));
    }
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_rmsnorm_args *a = args;
    for (int64_t t = begin; t < end; t++)
        norm(a, a->x + t * a->n, a->y + t * a->n);
}
