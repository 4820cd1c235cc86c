#include "lanes.h"
#include "weight.h"

/* sum_r (pred_pr g_r) succ_cr in order dot32, rows p and c widened */
static ts_real agreement(const ts_selector_scores_args *a, const ts_real *g, int64_t p, int64_t c)
{
    ts_real lane[TS_LANES] = {0}, h[TS_LANES], s[TS_LANES];
    for (int64_t r = 0; r < a->R; r += TS_LANES) {
        int64_t n = ts_piece(a->R - r, TS_LANES);
        ts_weight_run(a->pred, p, r, n, h);
        ts_weight_run(a->succ, c, r, n, s);
        for (int64_t i = 0; i < n; i++)
            h[i] = h[i] * g[r + i];
        ts_lanes_fma(lane, h, s, n);
    }
    return ts_lanes_sum(lane);
}

/* y_tk = U_tk + sum_r pred[prev_t, r] g_tr succ[cand_tk, r]: DFlash2's candidate selector, how well each candidate
 * of position t follows the token before it.
 * prev [T], cand [T,K], every one in 0..V-1; U, y [T,K]; g [T,R]; pred, succ [V,R]. Rounded: the MLX fma of either
 * row, pred g, dot32, its sum with U. */
void ts_selector_scores(const ts_selector_scores_args *a)
{
    for (int64_t i = 0; i < a->T * a->K; i++) {
        const int64_t t = i / a->K;
        a->y[i] = a->U[i] + agreement(a, a->g + t * a->R, a->prev[t], a->cand[i]);
    }
}
