/* The body of selector_scores.c of every isa, whose header comes first. */
#include "cpu/vector/dot32.h"
#include "cpu/vector/widen_row.h"

enum { MAX_R = 1024 };

/* h = pred_prev g, of all candidates of row t. */
static void gated(const ts_selector_scores_args *a, int64_t t, float *h)
{
    const float *g = a->g + t * a->R;
    v_widen_row(a->pred, a->prev[t], h);
    int64_t r = 0;
    for (; r + VEC <= a->R; r += VEC)
        v_store(h + r, v_mul(v_load(h + r), v_load(g + r)));
    for (; r < a->R; r++)
        h[r] = h[r] * g[r];
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
