/* The K best of a row, while it is read. */
#ifndef TS_FAST_SLOTS_H
#define TS_FAST_SLOTS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t K, kept;
    float *value;
    int32_t *id;
} ts_slots;

/* Less than this is no slot's, and equals lose to what was read before. */
static inline float ts_slots_least(const ts_slots *s)
{
    return s->kept < s->K ? -INFINITY : s->value[s->K - 1];
}

/* x, read at `at`, is better than the last slot, or there is one left. False if it is a NaN. */
static inline bool ts_slots_take(ts_slots *s, float x, int64_t at)
{
    int64_t k = s->kept < s->K ? s->kept++ : s->K - 1;
    for (; k > 0 && s->value[k - 1] < x; k--) {
        s->value[k] = s->value[k - 1];
        s->id[k] = s->id[k - 1];
    }
    s->value[k] = x;
    s->id[k] = (int32_t)at;
    return x == x;
}

static inline void ts_slots_spoil(ts_slots *s)
{
    for (int64_t k = 0; k < s->K; k++) {
        s->value[k] = NAN;
        s->id[k] = -1;
    }
}

#endif
