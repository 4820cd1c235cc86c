/* The sampler "orc-sample v1" (docs/contract.md, sampling): the same logits,
 * parameters, seed and position give the same token in any implementation. */
#ifndef TS_DECODE_SAMPLE_H
#define TS_DECODE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sampling.h"

typedef struct {
    int32_t token;
    bool greedy;   /* argmax: no random number, count 1, every double 0 */
    bool near;     /* distance < 1e-6 * total: the draw fell beside an edge of the CDF */
    bool boundary; /* a cut-off was as close: a tie broken by id at top-k or argmax, top-p or min-p within 1e-6 */
    int64_t count; /* candidates left */
    int64_t index; /* of the token among them */
    double total, u, target, lo, hi, distance; /* [lo,hi) is the token's share of [0,total) */
    /* Set by the caller: NULL, or room for V entries each, `count` written. */
    int32_t *candidates;
    float *weights;
} ts_sample;

/* logits[V] f32; history[n] = prompt and output so far, every id in [0,V); position = absolute index of
 * the token being decided in prompt and output (the first sampled one has position = prompt length).
 * Errors: NaN, +inf, all -inf (before or after penalties); *out is unchanged then. */
ts_status ts_sample_token(const ts_sampling *s, const float *logits, int64_t V, const int32_t *history, size_t n,
                          uint64_t position, ts_sample *out, ts_error *err);

#endif
