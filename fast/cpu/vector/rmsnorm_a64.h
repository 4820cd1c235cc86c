/* The body of rmsnorm_a64.c of every isa, whose header comes first; it defines `quantize`, the isa's quantize_a64. */
#include <string.h>
#include "cpu/vector/norm.h"

enum { RUN = 64 };

/* A run is normalised into the nearest cache, and quantised from there. */
static void norm_run(const ts_rmsnorm_a64_args *a, int64_t t, int64_t i, vec r)
{
    const float *x = a->x + t * a->n + i, *w = a->w + i;
    const int64_t at = t * a->n + i;
    float y[RUN];
    for (int j = 0; j < RUN; j += VEC) {
        vec g = v_load(w + j);
        v_store(y + j, v_mul(v_mul(v_load(x + j), r), a->centred ? v_add(v_all(1.0f), g) : g));
    }
    quantize->run(&(ts_quantize_a64_args){1, RUN, y, a->code + at, a->step + at / RUN, a->sum + at / RUN}, 0, 1);
    if (a->y)
        memcpy(a->y + at, y, sizeof y);
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_rmsnorm_a64_args *a = args;
    for (int64_t t = begin; t < end; t++) {
        vec r = v_all(v_mean_norm(a->x + t * a->n, a->n, a->eps));
        for (int64_t i = 0; i < a->n; i += RUN)
            norm_run(a, t, i, r);
    }
}
