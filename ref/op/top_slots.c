#include <stdbool.h>

#include "op.h"

/* x takes its place among the `kept` slots before it; of equal values those with the lower id stay ahead. */
static void insert(ts_real x, int32_t id, int64_t kept, int64_t K, ts_real *value, int32_t *slot)
{
    int64_t k = kept;
    for (; k > 0 && x > value[k - 1]; k--)
        if (k < K) {
            value[k] = value[k - 1];
            slot[k] = slot[k - 1];
        }
    if (k < K) {
        value[k] = x;
        slot[k] = id;
    }
}

/* The K largest of each row of logits, the larger first, ties to the lower id: candidates of a draft.
 * logits [T,V], K <= V; id, value [T,K]. Nothing is rounded. A row with a NaN has no order: all of its ids are -1
 * and its values NaN, for the caller to refuse. */
void ts_top_slots(const ts_top_slots_args *a)
{
    for (int64_t t = 0; t < a->T; t++) {
        const ts_real *x = a->logits + t * a->V;
        bool nan = false;
        for (int64_t v = 0; v < a->V; v++) {
            nan |= x[v] != x[v];
            insert(x[v], (int32_t)v, v < a->K ? v : a->K, a->K, a->value + t * a->K, a->id + t * a->K);
        }
        for (int64_t k = 0; k < a->K && nan; k++) {
            a->value[t * a->K + k] = (ts_real)NAN;
            a->id[t * a->K + k] = -1;
        }
    }
}
