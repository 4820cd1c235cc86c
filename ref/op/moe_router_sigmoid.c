#include "moe.h"
#include "op.h"

/* The two largest choices of a group of n experts, added; of a group of one, that one. */
static ts_real group_score(const ts_real *choice, int64_t n)
{
    ts_real first = ts_moe_kth(choice, n, 1).value;
    return n > 1 ? first + ts_moe_kth(choice, n, 2).value : first;
}

/* Leaves the experts of the topk_groups best groups (ties: the lower group); the others' choice becomes -inf. */
static void leave_groups(const ts_moe_router_args *a, ts_real *choice, ts_real *score)
{
    const int64_t n = a->E / a->groups;
    for (int64_t g = 0; g < a->groups; g++)
        score[g] = group_score(choice + g * n, n);
    const ts_moe_rank last = ts_moe_kth(score, a->groups, a->topk_groups);
    for (int64_t e = 0; e < a->E; e++)
        if (ts_moe_before(last, (ts_moe_rank){score[e / n], e / n}))
            choice[e] = -(ts_real)INFINITY;
}

static void spoil(ts_real *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = (ts_real)NAN;
}

/* One row: w holds the choices first, then the weights. */
static void route(const ts_moe_router_args *a, const ts_real *x, ts_real *w, ts_real *score)
{
    for (int64_t e = 0; e < a->E; e++)
        w[e] = ts_sigmoid(x[e]) + a->bias[e];
    if (ts_moe_is_nan(w, a->E)) {
        spoil(w, a->E);
        spoil(score, a->groups);
        return;
    }
    leave_groups(a, w, score);
    const ts_moe_rank last = ts_moe_kth(w, a->E, a->k);
    for (int64_t e = 0; e < a->E; e++) {
        bool kept = w[e] > -(ts_real)INFINITY && !ts_moe_before(last, (ts_moe_rank){w[e], e});
        w[e] = kept ? ts_sigmoid(x[e]) : 0;
    }
    if (a->renorm)
        ts_moe_renorm(w, a->E, (ts_real)1e-20);
    for (int64_t e = 0; e < a->E; e++)
        w[e] = w[e] * (ts_real)a->scale;
}

/* The router of DeepSeek-V3 (arXiv 2412.19437, 2.1.2) and Kimi Linear:
 *
 *   s = sigmoid(logits), choice = s + bias; the experts are cut into groups, a group counts as the sum of its two
 *   largest choices, topk_groups of them stay; of their experts the k with the largest choice are kept
 *   renorm: w = s / (sum of s kept + 1e-20), else s;  then w scale
 *
 * The bias decides who is kept and never enters a weight. Ties: the lower group, the lower id. Experts of groups
 * that do not stay are out whatever the sign of their choice; if fewer than k are left, those are kept.
 *
 * logits, weight [T,E]; bias [E]; score [T,groups]; weight is 0 for experts that are not kept. Rounded: sigmoid, s
 * + bias, the sum of two choices; the sum of s kept (ascending by id from +0), with 1e-20, the quotient, the
 * product with scale. A NaN choice makes all weights and scores of the row NaN. */
void ts_moe_router_sigmoid(const ts_moe_router_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        route(a, a->logits + t * a->E, a->weight + t * a->E, a->score + t * a->groups);
}
