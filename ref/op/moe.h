/* What the routers of sparse models share: which experts of a row are kept, and weights that add up. */
#ifndef TS_OP_MOE_H
#define TS_OP_MOE_H

#include <stdbool.h>
#include <stdint.h>
#include "num/real.h"

/* Experts in the order they are preferred: by value, the larger first, then by id. */
typedef struct {
    ts_real value;
    int64_t id;
} ts_moe_rank;

/* Does a come before b? */
static inline bool ts_moe_before(ts_moe_rank a, ts_moe_rank b)
{
    return a.value > b.value || (a.value == b.value && a.id < b.id);
}

/* The k-th of n values in that order, 1 <= k <= n, none of them NaN. */
static inline ts_moe_rank ts_moe_kth(const ts_real *x, int64_t n, int64_t k)
{
    ts_moe_rank last = {(ts_real)INFINITY, -1};
    for (int64_t i = 0; i < k; i++) {
        ts_moe_rank best = {-(ts_real)INFINITY, n};
        for (int64_t e = 0; e < n; e++) {
            ts_moe_rank here = {x[e], e};
            if (ts_moe_before(last, here) && ts_moe_before(here, best))
                best = here;
        }
        last = best;
    }
    return last;
}

static inline bool ts_moe_is_nan(const ts_real *x, int64_t n)
{
    for (int64_t e = 0; e < n; e++)
        if (x[e] != x[e])
            return true;
    return false;
}

/* w = w / (sum + tiny), the sum ascending by id. */
static inline void ts_moe_renorm(ts_real *w, int64_t n, ts_real tiny)
{
    ts_real sum = 0;
    for (int64_t e = 0; e < n; e++)
        sum = sum + w[e];
    for (int64_t e = 0; e < n; e++)
        w[e] = w[e] / (sum + tiny);
}

#endif
