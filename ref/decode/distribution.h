/* A distribution over token ids: the target's after the sampler's filters, or a drafter's over its slots.
 *
 * probability(x) = weight(x) / total: weights stand in the declared order, total is their sum in that order, in
 * double. From f32 logits the weights are f32 numbers (docs/contract.md, sampler); quotients, products and sums
 * made of them are double. */
#ifndef TS_DECODE_DISTRIBUTION_H
#define TS_DECODE_DISTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sampling.h"

typedef struct {
    int32_t *id;    /* the target's: logit descending, id ascending; a drafter's: its slots */
    double *weight; /* >= 0, at least one > 0 */
    int64_t n;
    double total;
    double margin; /* largest minus second largest logit, before any filter; infinite for a single id */
    bool boundary; /* a cut-off was close: a tie broken by id at top-k or argmax, top-p or min-p within 1e-6 */
} ts_distribution;

/* Closer than this share of the whole is a near-tie. */
#define TS_NEAR 1e-6

/* From f32 logits[V], as ts_sample_token does it: checks, penalties over history[n], then for T <= 0 the largest
 * logit alone, else order, top-k, softmax, top-p, min-p. Errors: bad parameters, an id of history outside [0,V),
 * NaN, +inf, all -inf (before or after penalties); *out then holds nothing to free. */
ts_status ts_distribution_of(const ts_sampling *s, const float *logits, int64_t V, const int32_t *history, size_t n,
                             ts_distribution *out, ts_error *err);

/* The same filters in double throughout, without penalties: weights exp((z - zmax) / T) of libm. For comparison
 * with what others computed in float64; never hashed. */
typedef struct {
    double temperature; /* <= 0: greedy */
    int64_t top_k;
    double top_p, min_p;
} ts_filter64;

ts_status ts_distribution_of64(const ts_filter64 *f, const double *logits, int64_t V, ts_distribution *out,
                               ts_error *err);

/* What a verifier demands: ids >= 0 and distinct, weights finite and not negative, their sum the total and above 0.
 */
ts_status ts_distribution_check(const ts_distribution *d, const char *name, ts_error *err);

/* 0 for an id that is not in it. */
double ts_probability(const ts_distribution *d, int32_t id);

void ts_distribution_free(ts_distribution *d);

#endif
