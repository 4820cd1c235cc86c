/* The sampler "orc-sample v1": the filters of distribution.c, then, unless greedy, one uniform and the inverse CDF.
 */
#include "sample.h"

#include "draw.h"
#include "num/philox.h"

static void report_candidates(const ts_distribution *d, ts_sample *out)
{
    for (int64_t i = 0; i < d->n; i++) {
        if (out->candidates)
            out->candidates[i] = d->id[i];
        if (out->weights)
            out->weights[i] = (float)d->weight[i];
    }
}

static void choose_greedy(const ts_distribution *d, ts_sample *out)
{
    *out = (ts_sample){.token = d->id[0],
                       .greedy = true,
                       .boundary = d->boundary,
                       .count = 1,
                       .candidates = out->candidates,
                       .weights = out->weights};
}

static void choose_drawn(const ts_distribution *d, double u, ts_sample *out)
{
    ts_drawn it = ts_draw(d, u);
    *out = (ts_sample){.token = it.id,
                       .near = it.distance < TS_NEAR * d->total,
                       .boundary = d->boundary,
                       .count = d->n,
                       .index = it.index,
                       .total = d->total,
                       .u = u,
                       .target = it.target,
                       .lo = it.lo,
                       .hi = it.hi,
                       .distance = it.distance,
                       .candidates = out->candidates,
                       .weights = out->weights};
}

ts_status ts_sample_token(const ts_sampling *s, const float *logits, int64_t V, const int32_t *history, size_t n,
                          uint64_t position, ts_sample *out, ts_error *err)
{
    ts_distribution d;
    ts_status status = ts_distribution_of(s, logits, V, history, n, &d, err);
    if (status != TS_OK)
        return status;
    if (s->temperature > 0.0f)
        choose_drawn(&d, ts_uniform(s->seed, position, TS_DRAW_SAMPLE), out);
    else
        choose_greedy(&d, out);
    report_candidates(&d, out);
    ts_distribution_free(&d);
    return TS_OK;
}
