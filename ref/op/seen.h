/* Which keys a row of attention sees. */
#ifndef TS_OP_SEEN_H
#define TS_OP_SEEN_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t lo, hi; /* lo <= j < hi */
} ts_seen;

/* j < len and, unless both sides are seen, j <= pos; with a window, |pos - j| < window. */
static inline ts_seen ts_seen_from(int64_t pos, int64_t len, int64_t window, bool both)
{
    int64_t reach = !both ? 1 : window > 0 ? window : len;
    int64_t end = pos + reach;
    return (ts_seen){window > 0 && pos >= window ? pos - window + 1 : 0, len < end ? len : end};
}

#endif
