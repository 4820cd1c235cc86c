#include "draw.h"

#include <math.h>
#include <stdlib.h>

#include "num/exp_cr.h"

/* target stays below total, which is the last cumulative weight, so the loop ends inside the list and on a weight
 * that is not zero. u < 1 alone does that for a normal total; the product with a subnormal one may round up to it.
 */
ts_drawn ts_draw(const ts_distribution *d, double u)
{
    double target = fmin(u * d->total, nextafter(d->total, 0.0)), lo = 0.0, hi = d->weight[0];
    int64_t i = 0;
    while (i + 1 < d->n && hi <= target) {
        lo = hi;
        hi += d->weight[++i];
    }
    return (ts_drawn){.index = i,
                      .id = d->id[i],
                      .u = u,
                      .target = target,
                      .lo = lo,
                      .hi = hi,
                      .distance = fmin(target - lo, hi - target)};
}

/* The slot of the largest score, the first of equals; *second: of all others. */
static int64_t largest(const double *score, int64_t n, double *second)
{
    int64_t best = 0;
    *second = -(double)INFINITY;
    for (int64_t i = 1; i < n; i++) {
        *second = fmax(*second, fmin(score[i], score[best]));
        if (score[i] > score[best])
            best = i;
    }
    return best;
}

static ts_status check_scores(const double *score, int64_t n, double temperature, ts_error *err)
{
    if (n < 1)
        return ts_fail(err, TS_BAD, NULL, "score", "a draft has %lld slots", (long long)n);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(score[i]))
            return ts_fail(err, TS_BAD, NULL, "score", "%g in slot %lld", score[i], (long long)i);
    return isfinite(temperature) ? TS_OK : ts_fail(err, TS_BAD, NULL, "temperature", "must be finite");
}

/* Room for n slots; at T <= 0 finished, with one of them. */
static ts_status start(const double *score, const int32_t *id, int64_t n, bool greedy, ts_distribution *out,
                       ts_error *err)
{
    double second;
    int64_t best = largest(score, n, &second);
    *out = (ts_distribution){.id = malloc((size_t)n * sizeof *id),
                             .weight = malloc((size_t)n * sizeof *score),
                             .n = greedy ? 1 : n,
                             .total = greedy ? 1.0 : 0.0,
                             .margin = score[best] - second,
                             .boundary = score[best] == second};
    if (!out->id || !out->weight) {
        ts_distribution_free(out);
        return ts_no_memory(err, (unsigned long)n * (sizeof *id + sizeof *score));
    }
    out->id[0] = id[greedy ? best : 0];
    out->weight[0] = 1.0;
    for (int64_t i = 1; i < out->n; i++)
        out->id[i] = id[i];
    return TS_OK;
}

static void sum_weights(ts_distribution *d)
{
    d->total = 0.0;
    for (int64_t i = 0; i < d->n; i++)
        d->total += d->weight[i];
}

ts_status ts_draft_distribution64(const double *score, const int32_t *id, int64_t n, double temperature,
                                  ts_distribution *out, ts_error *err)
{
    *out = (ts_distribution){0};
    ts_status status = check_scores(score, n, temperature, err);
    if (status == TS_OK)
        status = start(score, id, n, temperature <= 0.0, out, err);
    if (status != TS_OK || temperature <= 0.0)
        return status;
    double second, top = score[largest(score, n, &second)];
    for (int64_t i = 0; i < n; i++)
        out->weight[i] = exp((score[i] - top) / temperature);
    sum_weights(out);
    return TS_OK;
}

/* weight_i = exp_cr(f32(f32(s_i - smax) * f32(1/T))), as the sampler's step 5. */
static ts_status weigh(const double *wide, const int32_t *id, int64_t n, float temperature, ts_distribution *out,
                       ts_error *err)
{
    ts_status status = check_scores(wide, n, (double)temperature, err);
    if (status == TS_OK && temperature > 0.0f && isinf(1.0f / temperature))
        status = ts_fail(err, TS_BAD, NULL, "temperature", "%g is so small that 1/T is infinite",
                         (double)temperature);
    if (status == TS_OK)
        status = start(wide, id, n, temperature <= 0.0f, out, err);
    if (status != TS_OK || temperature <= 0.0f)
        return status;
    double second;
    float inv_t = 1.0f / temperature, top = (float)wide[largest(wide, n, &second)];
    for (int64_t i = 0; i < n; i++)
        out->weight[i] = (double)ts_exp_cr(((float)wide[i] - top) * inv_t);
    sum_weights(out);
    return TS_OK;
}

ts_status ts_draft_distribution(const float *score, const int32_t *id, int64_t n, float temperature,
                                ts_distribution *out, ts_error *err)
{
    *out = (ts_distribution){0};
    size_t count = n < 1 ? 1 : (size_t)n;
    double *wide = calloc(count, sizeof *wide);
    if (!wide)
        return ts_no_memory(err, count * sizeof *wide);
    for (int64_t i = 0; i < n; i++)
        wide[i] = (double)score[i];
    ts_status status = weigh(wide, id, n, temperature, out, err);
    free(wide);
    return status;
}
