/* The body of selector_scores.c of every isa, whose header comes first. */
#include "cpu/vector/dot32.h"
#include "cpu/vector/widen_row.h"

enum { MAX_R = 1024 };

/* h = pred_prev g, of all candidates of row t. */
static void gated(const ts_selector_scores_args *a, int64_t t, float *h)
{
    const float *g = a->g + t * a->R;
    v_widen_row(a->pred, a->prev[t], h);
    for (int64_t r = 0; r < a->R; r += VEC) {
        vmask m = v_first(a->R - r);
        v_store_some(h + r, m, v_mul(v_load_some(h + r, m), v_load_some(g + r, m)));
    }
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_selector_scores_args *a = args;
    float h[MAX_R], s[MAX_R];
    for (int64_t i = begin; i < end; i++) {
        if (i == begin || i % a->K == 0)
            gated(a, i / a->K, h);
        v_widen_row(a->succ, a->cand[i], s);
        a->y[i] = a->U[i] + v_dot32(h, s, a->R);
    }
}

static bool accepts(const void *args)
{
    const ts_selector_scores_args *a = args;
    return a->R <= MAX_R;
}
