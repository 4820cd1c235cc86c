/* The sampler's filters. The functions below are its steps, in order. From f32 logits every step before the sums is
 * f32: a candidate holds f32 numbers in its doubles, and the roundings are written. */
#include "distribution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "num/exp_cr.h"

typedef struct {
    double z; /* logit after penalties */
    double p; /* unnormalised weight, 1 for the first */
    int32_t id;
} candidate;

typedef struct {
    candidate *c;
    int64_t n;
    double total; /* of the weights, summed in order */
    double margin;
    bool boundary;
} candidate_list;

static ts_status check_size(int64_t V, ts_error *err)
{
    return V < 1 || V > INT32_MAX ? ts_fail(err, TS_BAD, NULL, "logits", "vocabulary of %lld ids", (long long)V)
                                  : TS_OK;
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
static ts_status check_logits(const candidate *c, int64_t V, const char *name, ts_error *err)
{
    bool drawable = false;
    for (int64_t i = 0; i < V; i++)
        if (isnan(c[i].z))
            return ts_fail(err, TS_BAD, NULL, name, "nan at id %lld", (long long)i);
    for (int64_t i = 0; i < V; i++) {
        if (isinf(c[i].z) && c[i].z > 0.0)
            return ts_fail(err, TS_BAD, NULL, name, "+inf at id %lld", (long long)i);
        drawable = drawable || !isinf(c[i].z);
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
static ts_status penalise(const ts_sampling *s, candidate *c, int64_t V, const int32_t *history, size_t n,
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
            c[i].z = (double)penalty(s, (float)c[i].z, count[i]);
    free(count);
    return check_logits(c, V, "logits after penalties", err);
}

/* Step 3: the largest, lowest id first. */
static void choose_greedy(candidate_list *list)
{
    int64_t best = 0;
    double second = -(double)INFINITY;
    for (int64_t i = 1; i < list->n; i++) {
        if (list->c[i].z > list->c[best].z) {
            second = list->c[best].z;
            best = i;
        } else {
            second = fmax(second, list->c[i].z);
        }
    }
    list->margin = list->c[best].z - second;
    list->boundary = list->margin == 0.0;
    list->c[0] = (candidate){.z = list->c[best].z, .p = 1.0, .id = list->c[best].id};
    list->n = 1;
    list->total = 1.0;
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

static void sort_candidates(candidate_list *list)
{
    qsort(list->c, (size_t)list->n, sizeof *list->c, by_logit_then_id);
    list->margin = list->n > 1 ? list->c[0].z - list->c[1].z : (double)INFINITY;
}

static void keep_top_k(int64_t k, candidate_list *list)
{
    if (k <= 0 || k >= list->n)
        return;
    double kept = list->c[k - 1].z, dropped = list->c[k].z;
    list->boundary = kept == dropped && !isinf(kept);
    list->n = k;
}

static void sum_weights(candidate_list *list)
{
    list->total = 0.0;
    for (int64_t i = 0; i < list->n; i++)
        list->total += list->c[i].p;
}

/* Step 5: softmax weights, f32 difference times f32 1/T. */
static void weigh(float temperature, candidate_list *list)
{
    float inv_t = 1.0f / temperature, zmax = (float)list->c[0].z;
    for (int64_t i = 0; i < list->n; i++)
        list->c[i].p = (double)ts_exp_cr(((float)list->c[i].z - zmax) * inv_t);
    sum_weights(list);
}

static void weigh64(double temperature, candidate_list *list)
{
    double zmax = list->c[0].z;
    for (int64_t i = 0; i < list->n; i++)
        list->c[i].p = exp((list->c[i].z - zmax) / temperature);
    sum_weights(list);
}

/* Step 6: up to the first whose cumulative share reaches top_p; after the last nothing is left to cut. */
static void keep_top_p(double top_p, candidate_list *list)
{
    if (top_p <= 0.0 || top_p >= 1.0)
        return;
    double cum = 0.0;
    int64_t n = 0;
    while (n < list->n && cum < top_p) {
        cum += list->c[n++].p / list->total;
        if (n < list->n && fabs(cum - top_p) < TS_NEAR)
            list->boundary = true;
    }
    list->n = n;
    sum_weights(list);
}

/* Step 7: weights fall along the order, so the kept ones are the first ones. p_0 is 1, so min_p times it is exact;
 * it is always kept. */
static void keep_min_p(double min_p, candidate_list *list)
{
    if (min_p <= 0.0)
        return;
    double cut = min_p * list->c[0].p;
    int64_t n = 1;
    for (int64_t i = 1; i < list->n; i++) {
        double p = list->c[i].p;
        if (fabs(p - cut) < TS_NEAR * cut)
            list->boundary = true;
        if (p >= cut)
            n = i + 1;
    }
    list->n = n;
    sum_weights(list);
}

static void filter(const ts_sampling *s, candidate_list *list)
{
    if (s->temperature <= 0.0f) {
        choose_greedy(list);
        return;
    }
    sort_candidates(list);
    keep_top_k(s->top_k, list);
    weigh(s->temperature, list);
    keep_top_p((double)s->top_p, list);
    keep_min_p((double)s->min_p, list);
}

static void filter64(const ts_filter64 *f, candidate_list *list)
{
    if (f->temperature <= 0.0) {
        choose_greedy(list);
        return;
    }
    sort_candidates(list);
    keep_top_k(f->top_k, list);
    weigh64(f->temperature, list);
    keep_top_p(f->top_p, list);
    keep_min_p(f->min_p, list);
}

static ts_status hand_over(const candidate_list *list, ts_distribution *out, ts_error *err)
{
    size_t n = (size_t)list->n;
    *out = (ts_distribution){.id = malloc(n * sizeof *out->id),
                             .weight = malloc(n * sizeof *out->weight),
                             .n = list->n,
                             .total = list->total,
                             .margin = list->margin,
                             .boundary = list->boundary};
    if (!out->id || !out->weight) {
        ts_distribution_free(out);
        return ts_no_memory(err, n * (sizeof *out->id + sizeof *out->weight));
    }
    for (size_t i = 0; i < n; i++) {
        out->id[i] = list->c[i].id;
        out->weight[i] = list->c[i].p;
    }
    return TS_OK;
}

ts_status ts_distribution_of(const ts_sampling *s, const float *logits, int64_t V, const int32_t *history, size_t n,
                             ts_distribution *out, ts_error *err)
{
    *out = (ts_distribution){0};
    ts_status status = ts_sampling_check(s, err);
    if (status == TS_OK)
        status = check_size(V, err);
    if (status == TS_OK)
        status = check_history(history, n, V, err);
    if (status != TS_OK)
        return status;
    candidate_list list = {.c = malloc((size_t)V * sizeof *list.c), .n = V};
    if (!list.c)
        return ts_no_memory(err, (unsigned long)V * sizeof *list.c);
    for (int64_t i = 0; i < V; i++)
        list.c[i] = (candidate){.z = (double)logits[i], .id = (int32_t)i};
    status = check_logits(list.c, V, "logits", err);
    if (status == TS_OK)
        status = penalise(s, list.c, V, history, n, err);
    if (status == TS_OK) {
        filter(s, &list);
        status = hand_over(&list, out, err);
    }
    free(list.c);
    return status;
}

static ts_status check_filter64(const ts_filter64 *f, ts_error *err)
{
    if (!isfinite(f->temperature))
        return ts_fail(err, TS_BAD, NULL, "temperature", "must be finite");
    if (isnan(f->top_p))
        return ts_fail(err, TS_BAD, NULL, "top_p", "must not be NaN");
    if (isnan(f->min_p) || f->min_p > 1.0)
        return ts_fail(err, TS_BAD, NULL, "min_p", "must be at most 1, got %g", f->min_p);
    return TS_OK;
}

ts_status ts_distribution_of64(const ts_filter64 *f, const double *logits, int64_t V, ts_distribution *out,
                               ts_error *err)
{
    *out = (ts_distribution){0};
    ts_status status = check_filter64(f, err);
    if (status == TS_OK)
        status = check_size(V, err);
    if (status != TS_OK)
        return status;
    candidate_list list = {.c = malloc((size_t)V * sizeof *list.c), .n = V};
    if (!list.c)
        return ts_no_memory(err, (unsigned long)V * sizeof *list.c);
    for (int64_t i = 0; i < V; i++)
        list.c[i] = (candidate){.z = logits[i], .id = (int32_t)i};
    status = check_logits(list.c, V, "logits", err);
    if (status == TS_OK) {
        filter64(f, &list);
        status = hand_over(&list, out, err);
    }
    free(list.c);
    return status;
}

static int by_id(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return (a > b) - (a < b);
}

static ts_status check_ids(const ts_distribution *d, const char *name, ts_error *err)
{
    size_t n = (size_t)d->n;
    int32_t *sorted = malloc(n * sizeof *sorted);
    if (!sorted)
        return ts_no_memory(err, n * sizeof *sorted);
    memcpy(sorted, d->id, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_id);
    ts_status status = TS_OK;
    if (sorted[0] < 0)
        status = ts_fail(err, TS_BAD, NULL, name, "id %d is negative", (int)sorted[0]);
    for (size_t i = 1; status == TS_OK && i < n; i++)
        if (sorted[i] == sorted[i - 1])
            status = ts_fail(err, TS_BAD, NULL, name, "id %d stands twice", (int)sorted[i]);
    free(sorted);
    return status;
}

ts_status ts_distribution_check(const ts_distribution *d, const char *name, ts_error *err)
{
    double total = 0.0;
    if (d->n < 1 || !d->id || !d->weight)
        return ts_fail(err, TS_BAD, NULL, name, "is empty");
    for (int64_t i = 0; i < d->n; i++) {
        if (!isfinite(d->weight[i]) || d->weight[i] < 0.0)
            return ts_fail(err, TS_BAD, NULL, name, "weight %g of id %d", d->weight[i], (int)d->id[i]);
        total += d->weight[i];
    }
    if (!(total > 0.0) || !isfinite(total) || total != d->total)
        return ts_fail(err, TS_BAD, NULL, name, "the weights sum to %.17g, not to %.17g", total, d->total);
    return check_ids(d, name, err);
}

double ts_probability(const ts_distribution *d, int32_t id)
{
    for (int64_t i = 0; i < d->n; i++)
        if (d->id[i] == id)
            return d->weight[i] / d->total;
    return 0.0;
}

void ts_distribution_free(ts_distribution *d)
{
    free(d->id);
    free(d->weight);
    *d = (ts_distribution){0};
}
