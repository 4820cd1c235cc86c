/* Bounds of what the drafter DFlash2 adds. */
#include "check/bound_op.h"

/* y = sum of (base + delta) x, every step rounded, the row's own tap first */
void ts_bound_grouped_conv(const ts_grouped_conv_args *a, double *bound)
{
    const int64_t groups = a->C / a->group;
    for (int64_t i = 0; i < a->T * a->C; i++) {
        const int64_t t = i / a->C, c = i % a->C, oldest = t - t % a->block;
        ts_err y = {0, 0};
        for (int64_t w = 0; w < a->W && t - w >= oldest; w++) {
            const float *base = a->base + a->side * a->W * a->C,
                        *delta = a->delta + (2 * t + a->side) * a->W * groups;
            ts_err k = ts_err_add(ts_err_exact(base[w * a->C + c]), ts_err_exact(delta[w * groups + c / a->group]));
            ts_err p = ts_err_mul(k, ts_err_exact(a->x[(t - w) * a->C + c]));
            y = w ? ts_err_add(y, p) : p;
        }
        bound[i] = ts_err_bound(y);
    }
}

/* y = U + dot32(pred g, succ) */
void ts_bound_selector_scores(const ts_selector_scores_args *a, double *bound)
{
    for (int64_t i = 0; i < a->T * a->K; i++) {
        ts_err_dot32 d = {0};
        for (int64_t r = 0; r < a->R; r++)
            ts_err_dot32_term(
                &d, r,
                ts_err_mul(ts_err_weight(a->pred, a->prev[i / a->K], r), ts_err_exact(a->g[i / a->K * a->R + r])),
                ts_err_weight(a->succ, a->cand[i], r));
        bound[i] = ts_err_bound(ts_err_add(ts_err_exact(a->U[i]), ts_err_dot32_sum(&d)));
    }
}
