/* Draws: one uniform and the inverse CDF in the declared order; and the law of a drafter's slots. */
#ifndef TS_DECODE_DRAW_H
#define TS_DECODE_DRAW_H

#include "distribution.h"

/* [lo, hi) is the share of the chosen id of [0, total); target = u * total lies in it. */
typedef struct {
    int64_t index;
    int32_t id;
    double u, target, lo, hi;
    double distance; /* of target to the nearer of lo and hi */
} ts_drawn;

/* The first entry with cumulative weight > u * total. u in [0,1). */
ts_drawn ts_draw(const ts_distribution *d, double u);

/* A drafter's law q over n slots (ids distinct), in the order given, which for DFlash2 is that of the logits U, not
 * of the scores: softmax(score / T), no filter. T <= 0: the slot of the largest score alone, the first of equals.
 * A draft is ts_draw of it, with purpose TS_DRAW_DRAFT at the position that it proposes for. Errors: no slot, a NaN
 * or infinite score, a T that the sampler refuses. */
ts_status ts_draft_distribution(const float *score, const int32_t *id, int64_t n, float temperature,
                                ts_distribution *out, ts_error *err);
/* In double, with libm's exp: for outside goldens in float64. */
ts_status ts_draft_distribution64(const double *score, const int32_t *id, int64_t n, double temperature,
                                  ts_distribution *out, ts_error *err);

#endif
