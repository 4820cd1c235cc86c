/* The sampler "orc-sample v1". The functions below are its steps, in order; ts_sample_token at the end
 * is the list. Every rounding is written: f32 where the step says f32, sums in f64 in candidate order. */
#include "sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "num/exp_cr.h"
#include "num/philox.h"

/* What may differ between two sound implementations is far smaller; closer than this is a near-tie. */
static const double NEAR = 1e-6;

typedef struct {
    float z; /* logit after penalties */
    float p; /* unnormalised weight, 1 for the first */
    int32_t id;
} candidate;

typedef struct {
    candidate *c;
    int64_t n;
    double total; /* of the weights, summed in order */
    bool boundary;
} candidate_list;

ts_sampling ts_sampling_default(void)
{
    return (ts_sampling){.temperature = 0.0f, .top_p = 1.0f, .repetition = 1.0f, .window = 64};
}

ts_status ts_sampling_check(const ts_sampling *s, ts_error *err)
{
    if (!isfinite(s->temperature))
        return ts_fail(err, TS_BAD, NULL, "temperature", "must be finite");
    if (s->temperature > 0.0f && isinf(1.0f / s->temperature))
        return ts_fail(err, TS_BAD, NULL, "temperature", "%g is so small that 1/T is infinite",
                       (double)s->temperature);
    if (isnan(s->top_p))
        return ts_fail(err, TS_BAD, NULL, "top_p", "must not be NaN");
    if (isnan(s->min_p) || s->min_p > 1.0f)
        return ts_fail(err, TS_BAD, NULL, "min_p", "must be at most 1, got %g", (double)s->min_p);
    if (!isfinite(s->repetition) || s->repetition <= 0.0f)
        return ts_fail(err, TS_BAD, NULL, "repetition", "must be finite and above 0, got %g",
                       (double)s->repetition);
    if (!isfinite(s->frequency))
        return ts_fail(err, TS_BAD, NULL, "frequency", "must be finite");
    if (!isfinite(s->presence))
        return ts_fail(err, TS_BAD, NULL, "presence", "must be finite");
    if (s->window < 0)
        return ts_fail(err, TS_BAD, NULL, "window", "must not be negative, got %lld", (long long)s->window);
    return TS_OK;
}

static ts_status check_history(const int32_t *history, size_t n, int64_t V, ts_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (history[i] < 0 || history[i] >= V)
            return ts_fail(err, TS_BAD, NULL, "history", "id %d at %zu is outside 0..%lld", (int)history[i], i,
                           (long long)V - 1);
    return TS_OK;
}

/* Step 1 (and again after penalties): NaN first, then +inf, then all -inf. */
static ts_status check_logits(const float *z, int64_t V, const char *name, ts_error *err)
{
    bool drawable = false;
    for (int64_t i = 0; i < V; i++)
        if (isnan(z[i]))
            return ts_fail(err, TS_BAD, NULL, name, "nan at id %lld", (long long)i);
    for (int64_t i = 0; i < V; i++) {
        if (isinf(z[i]) && z[i] > 0.0f)
            return ts_fail(err, TS_BAD, NULL, name, "+inf at id %lld", (long long)i);
        drawable = drawable || !isinf(z[i]);
    }
    return drawable ? TS_OK : ts_fail(err, TS_BAD, NULL, name, "all -inf");
}

static float penalty(const ts_sampling *s, float z, int64_t count)
{
    z = z > 0.0f ? z / s->repetition : z * s->repetition;
    z -= (float)count * s->frequency;
    return z - s->presence;
}

/* Step 2: once per distinct id among the last `window` of history. */
static ts_status penalise(const ts_sampling *s, float *z, int64_t V, const int32_t *history, size_t n,
                          ts_error *err)
{
    size_t window = (uint64_t)s->window < n ? (size_t)s->window : n;
    int64_t *count = calloc((size_t)V, sizeof *count);
    if (!count)
        return ts_no_memory(err, (unsigned long)V * sizeof *count);
    for (size_t i = n - window; i < n; i++)
        count[history[i]]++;
    for (int64_t i = 0; i < V; i++)
        if (count[i])
            z[i] = penalty(s, z[i], count[i]);
    free(count);
    return check_logits(z, V, "logits after penalties", err);
}

/* Step 3: the largest, lowest id first; uses no random number. */
static void choose_greedy(const float *z, int64_t V, ts_sample *out)
{
    int64_t best = 0;
    bool tie = false;
    for (int64_t i = 1; i < V; i++) {
        if (z[i] > z[best]) {
            best = i;
            tie = false;
        } else if (z[i] == z[best]) {
            tie = true;
        }
    }
    *out = (ts_sample){.token = (int32_t)best,
                       .greedy = true,
                       .boundary = tie,
                       .count = 1,
                       .candidates = out->candidates,
                       .weights = out->weights};
    if (out->candidates)
        out->candidates[0] = (int32_t)best;
    if (out->weights)
        out->weights[0] = 1.0f;
}

/* Step 4: logit descending, then id ascending; -0 and +0 compare equal. */
static int by_logit_then_id(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    if (a->z > b->z)
        return -1;
    if (a->z < b->z)
        return 1;
    return (a->id > b->id) - (a->id < b->id);
}

static void sort_candidates(const float *z, int64_t V, candidate_list *list)
{
    for (int64_t i = 0; i < V; i++)
        list->c[i] = (candidate){.z = z[i], .id = (int32_t)i};
    list->n = V;
    qsort(list->c, (size_t)V, sizeof *list->c, by_logit_then_id);
}

static void keep_top_k(int64_t k, candidate_list *list)
{
    if (k <= 0 || k >= list->n)
        return;
    float kept = list->c[k - 1].z, dropped = list->c[k].z;
    list->boundary = kept == dropped && !isinf(kept);
    list->n = k;
}

static void sum_weights(candidate_list *list)
{
    list->total = 0.0;
    for (int64_t i = 0; i < list->n; i++)
        list->total += (double)list->c[i].p;
}

/* Step 5: softmax weights, f32 difference times f32 1/T. */
static void weigh(float temperature, candidate_list *list)
{
    float inv_t = 1.0f / temperature, zmax = list->c[0].z;
    for (int64_t i = 0; i < list->n; i++)
        list->c[i].p = ts_exp_cr((list->c[i].z - zmax) * inv_t);
    sum_weights(list);
}

/* Step 6: up to the first whose cumulative share reaches top_p; after the last nothing is left to cut. */
static void keep_top_p(float top_p, candidate_list *list)
{
    if (top_p <= 0.0f || top_p >= 1.0f)
        return;
    double cum = 0.0;
    int64_t n = 0;
    while (n < list->n && cum < (double)top_p) {
        cum += (double)list->c[n++].p / list->total;
        if (n < list->n && fabs(cum - (double)top_p) < NEAR)
            list->boundary = true;
    }
    list->n = n;
    sum_weights(list);
}

/* Step 7: weights fall along the order, so the kept ones are the first ones; p_0 is always kept. */
static void keep_min_p(float min_p, candidate_list *list)
{
    if (min_p <= 0.0f)
        return;
    float cut = min_p * list->c[0].p;
    int64_t n = 1;
    for (int64_t i = 1; i < list->n; i++) {
        float p = list->c[i].p;
        if (fabs((double)p - (double)cut) < NEAR * (double)cut)
            list->boundary = true;
        if (p >= cut)
            n = i + 1;
    }
    list->n = n;
    sum_weights(list);
}

/* Steps 8 to 10: one uniform, inverse CDF. u < 1 keeps target below total, which is the last cum, so the
 * loop ends inside the list and on a weight that is not zero. */
static void draw(const candidate_list *list, double u, ts_sample *out)
{
    double target = u * list->total, lo = 0.0, hi = (double)list->c[0].p;
    int64_t i = 0;
    while (i + 1 < list->n && hi <= target) {
        lo = hi;
        hi += (double)list->c[++i].p;
    }
    double distance = fmin(target - lo, hi - target);
    *out = (ts_sample){.token = list->c[i].id,
                       .near = distance < NEAR * list->total,
                       .boundary = list->boundary,
                       .count = list->n,
                       .index = i,
                       .total = list->total,
                       .u = u,
                       .target = target,
                       .lo = lo,
                       .hi = hi,
                       .distance = distance,
                       .candidates = out->candidates,
                       .weights = out->weights};
}

static void report_candidates(const candidate_list *list, ts_sample *out)
{
    for (int64_t i = 0; i < list->n; i++) {
        if (out->candidates)
            out->candidates[i] = list->c[i].id;
        if (out->weights)
            out->weights[i] = list->c[i].p;
    }
}

static ts_status choose_drawn(const ts_sampling *s, const float *z, int64_t V, uint64_t position, ts_sample *out,
                              ts_error *err)
{
    candidate_list list = {.c = malloc((size_t)V * sizeof *list.c)};
    if (!list.c)
        return ts_no_memory(err, (unsigned long)V * sizeof *list.c);
    sort_candidates(z, V, &list);
    keep_top_k(s->top_k, &list);
    weigh(s->temperature, &list);
    keep_top_p(s->top_p, &list);
    keep_min_p(s->min_p, &list);
    draw(&list, ts_uniform(s->seed, position, TS_DRAW_SAMPLE), out);
    report_candidates(&list, out);
    free(list.c);
    return TS_OK;
}

static ts_status choose(const ts_sampling *s, float *z, int64_t V, const int32_t *history, size_t n,
                        uint64_t position, ts_sample *out, ts_error *err)
{
    ts_status status = penalise(s, z, V, history, n, err);
    if (status != TS_OK)
        return status;
    if (s->temperature > 0.0f)
        return choose_drawn(s, z, V, position, out, err);
    choose_greedy(z, V, out);
    return TS_OK;
}

ts_status ts_sample_token(const ts_sampling *s, const float *logits, int64_t V, const int32_t *history, size_t n,
                          uint64_t position, ts_sample *out, ts_error *err)
{
    ts_status status = ts_sampling_check(s, err);
    if (status != TS_OK)
        return status;
    if (V < 1 || V > INT32_MAX)
        return ts_fail(err, TS_BAD, NULL, "logits", "vocabulary of %lld ids", (long long)V);
    status = check_history(history, n, V, err);
    if (status == TS_OK)
        status = check_logits(logits, V, "logits", err);
    if (status != TS_OK)
        return status;
    float *z = malloc((size_t)V * sizeof *z);
    if (!z)
        return ts_no_memory(err, (unsigned long)V * sizeof *z);
    memcpy(z, logits, (size_t)V * sizeof *z);
    status = choose(s, z, V, history, n, position, out, err);
    free(z);
    return status;
}
