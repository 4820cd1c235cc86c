/* The parameters of the sampler "orc-sample v1" (docs/contract.md, sampler). */
#ifndef TS_DECODE_SAMPLING_H
#define TS_DECODE_SAMPLING_H

#include <stdint.h>
#include "num/status.h"

typedef struct {
    float temperature;                     /* <= 0: greedy */
    int64_t top_k;                         /* <= 0 or >= V: off */
    float top_p;                           /* <= 0 or >= 1: off */
    float min_p;                           /* <= 0: off */
    float repetition, frequency, presence; /* 1, 0, 0: off */
    int64_t window; /* the last `window` ids of prompt and output count for the penalties; 0: none */
    uint64_t seed;
} ts_sampling;

ts_sampling ts_sampling_default(void); /* greedy, everything off, window 64, seed 0 */
/* Rejects NaN, an infinite temperature or penalty, T > 0 with 1/T infinite, repetition <= 0, min_p > 1
 * (it would keep no candidate) and a negative window. */
ts_status ts_sampling_check(const ts_sampling *s, ts_error *err);

#endif
