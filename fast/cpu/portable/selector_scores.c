#include "schedule.h"

#include "cpu/portable/dot32.h"

enum { RUN = 256 }; /* a multiple of the lanes: every rank is taken in pieces of it */

/* U + (pred_prev g) . succ_cand */
static float score(const ts_selector_scores_args *a, int64_t t, int64_t k)
{
    float lane[TS_LANES] = {0}, h[RUN], s[RUN];
    for (int64_t r = 0; r < a->R; r += RUN) {
        const int64_t n = a->R - r < RUN ? a->R - r : RUN;
        ts_widen(a->pred, a->prev[t], r, n, h);
        ts_widen(a->succ, a->cand[t * a->K + k], r, n, s);
        for (int64_t i = 0; i < n; i++)
            h[i] = h[i] * a->g[t * a->R + r + i];
        ts_lanes_add(lane, h, s, n);
    }
    return a->U[t * a->K + k] + ts_lanes_sum(lane);
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_selector_scores_args *a = args;
    for (int64_t i = begin; i < end; i++)
        a->y[i] = score(a, i / a->K, i % a->K);
}

const ts_schedule ts_selector_scores_portable = {
    .name = "selector_scores.portable",
    .op = TS_OP_SELECTOR_SCORES,
    .backend = "cpu",
    .shapes = "any",
    .order = "dot32",
    .profile = "any",
    .exposes = "",
    .run = run,
};
