#include "moe.h"
#include "op.h"

/* The router of Qwen's sparse models:
 *
 *   p = softmax(logits),  the k largest p are kept (ties: the lower id),  renorm: w = p / sum of those kept, else p
 *
 * logits, weight [T,E]; weight is 0 for experts that are not kept. Rounded: logit - max, exp, their sum (ascending
 * by id from +0), the quotient; the sum of those kept (ascending by id) and the quotient. A NaN logit makes all
 * weights of the row NaN. */
void ts_moe_router_softmax(const ts_moe_router_args *a)
{
    for (int64_t t = 0; t < a->T; t++) {
        const ts_real *x = a->logits + t * a->E;
        ts_real *w = a->weight + t * a->E, most = x[0], sum = 0;
        for (int64_t e = 1; e < a->E; e++)
            most = x[e] > most ? x[e] : most;
        for (int64_t e = 0; e < a->E; e++) {
            w[e] = ts_exp(x[e] - most);
            sum = sum + w[e];
        }
        for (int64_t e = 0; e < a->E; e++)
            w[e] = w[e] / sum;
        if (ts_moe_is_nan(w, a->E))
            continue;
        const ts_moe_rank last = ts_moe_kth(w, a->E, a->k);
        for (int64_t e = 0; e < a->E; e++)
            if (ts_moe_before(last, (ts_moe_rank){w[e], e}))
                w[e] = 0;
        if (a->renorm)
            ts_moe_renorm(w, a->E, 0);
    }
}
