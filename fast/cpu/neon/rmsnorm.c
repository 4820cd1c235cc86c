#include "schedule.h"

#include "cpu/neon/dot32.h"

static vec scaled(vec x, vec r, vec w, int64_t centred)
{
    return v_mul(v_mul(x, r), centred ? v_add(v_all(1.0f), w) : w);
}

static void row(const ts_rmsnorm_args *a, const float *x, float *y)
{
    vec r = v_all(1.0f / sqrtf(v_square32(x, a->n) / (float)a->n + (float)a->eps));
    int64_t i = 0, left;
    for (; i + VEC <= a->n; i += VEC)
        v_store(y + i, scaled(v_load(x + i), r, v_load(a->w + i), a->centred));
    if ((left = a->n - i) > 0)
        v_store_first(y + i, left, scaled(v_load_first(x + i, left), r, v_load_first(a->w + i, left), a->centred));
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_rmsnorm_args *a = args;
    for (int64_t t = begin; t < end; t++)
        row(a, a->x + t * a->n, a->y + t * a->n);
}

const ts_schedule ts_rmsnorm_neon = {
    .name = "rmsnorm.neon",
    .op = TS_OP_RMSNORM,
    .backend = "cpu",
    .shapes = "any",
    .order = "dot32",
    .profile = "any",
    .exposes = "",
    .run = run,
    .isa = "neon",
};
