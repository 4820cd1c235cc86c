#include "schedule.h"

#include "cpu/neon/dot32.h"

static void head(const ts_l2norm_args *a, const float *x, float *y)
{
    vec r = v_all(1.0f / sqrtf(v_square32(x, a->D) + (float)a->eps)), scale = v_all((float)a->scale);
    int64_t i = 0, left;
    for (; i + VEC <= a->D; i += VEC)
        v_store(y + i, v_mul(v_mul(v_load(x + i), r), scale));
    if ((left = a->D - i) > 0)
        v_store_first(y + i, left, v_mul(v_mul(v_load_first(x + i, left), r), scale));
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_l2norm_args *a = args;
    for (int64_t u = begin; u < end; u++)
        head(a, a->x + u * a->D, a->y + u * a->D);
}

const ts_schedule ts_l2norm_neon = {
    .name = "l2norm.neon",
    .op = TS_OP_L2NORM,
    .backend = "cpu",
    .shapes = "any",
    .order = "dot32",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "neon",
};
