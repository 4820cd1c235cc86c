/* Bounds of the operations of sparse models. A router's selection is a comparison of values that have errors
 * themselves: where they cannot tell who is kept, the weights of that row are bounded by what they may be at all.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/bound_op.h"

/* One row of a router: every expert's choice, and its weight if it is kept. */
typedef struct {
    int64_t E, k;
    const ts_err *choice, *weight;
} row;

/* Do all errors of x and y together leave their order as it is, and do exact ties stay ties? */
static bool settled(ts_err x, ts_err y)
{
    return fabs(x.v - y.v) > x.e + y.e || (x.e == 0 && y.e == 0);
}

/* How many come before expert e by value, the lower id first. */
static int64_t rank(const ts_err *x, int64_t n, int64_t e)
{
    int64_t before = 0;
    for (int64_t i = 0; i < n; i++)
        before += x[i].v > x[e].v || (x[i].v == x[e].v && i < e);
    return before;
}

static bool same_inputs(const float *logit, const float *bias, int64_t e, int64_t i)
{
    return logit && logit[e] == logit[i] && (!bias || bias[e] == bias[i]);
}

/* Is it certain which k of n are kept? Then kept[] says. Values made of equal inputs, a logit and perhaps a bias,
 * tie in either precision. */
static bool selection(const ts_err *x, const float *logit, const float *bias, int64_t n, int64_t k, bool *kept)
{
    bool certain = true;
    for (int64_t e = 0; e < n; e++)
        kept[e] = rank(x, n, e) < k;
    for (int64_t e = 0; e < n; e++)
        for (int64_t i = 0; i < n && kept[e]; i++)
            if (!kept[i] && !settled(x[e], x[i]) && !same_inputs(logit, bias, e, i))
                certain = false;
    return certain;
}

/* w / (sum of those kept + tiny) scale, ascending by id */
static void weigh(const row *r, const bool *kept, bool renorm, float tiny, const ts_err *scale, double *bound)
{
    ts_err sum = {0, 0};
    for (int64_t e = 0; e < r->E; e++)
        sum = ts_err_add(sum, kept[e] ? r->weight[e] : (ts_err){0, 0});
    if (tiny > 0)
        sum = ts_err_add(sum, ts_err_exact(tiny));
    for (int64_t e = 0; e < r->E; e++) {
        ts_err w = renorm ? ts_err_div(r->weight[e], sum) : r->weight[e];
        bound[e] = kept[e] ? ts_err_bound(scale ? ts_err_mul(w, *scale) : w) : 0;
    }
}

static void anything(int64_t E, double most, double *bound)
{
    for (int64_t e = 0; e < E; e++)
        bound[e] = most;
}

static bool has_nan(const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (isnan(x[i]))
            return true;
    return false;
}

/* p = exp(x - max) / sum, kept by p */
static void softmax_row(const ts_moe_router_args *a, const float *x, ts_err *p, bool *kept, double *bound)
{
    float most = x[0];
    ts_err sum = {0, 0};
    for (int64_t e = 1; e < a->E; e++)
        most = x[e] > most ? x[e] : most;
    for (int64_t e = 0; e < a->E; e++) {
        p[e] = ts_err_exp(ts_err_sub(ts_err_exact(x[e]), ts_err_exact(most)));
        sum = ts_err_add(sum, p[e]);
    }
    for (int64_t e = 0; e < a->E; e++)
        p[e] = ts_err_div(p[e], sum);
    const row r = {a->E, a->k, p, p};
    if (selection(p, x, NULL, a->E, a->k, kept))
        weigh(&r, kept, a->renorm != 0, 0, NULL, bound);
    else
        anything(a->E, 1 + 0x1p-10, bound);
}

ts_status ts_bound_moe_router_softmax(const ts_moe_router_args *a, double *bound, ts_error *err)
{
    ts_err *p = calloc((size_t)a->E, sizeof *p);
    bool *kept = calloc((size_t)a->E, sizeof *kept);
    for (int64_t t = 0; p && kept && t < a->T; t++)
        if (has_nan(a->logits + t * a->E, a->E))
            anything(a->E, 0, bound + t * a->E); /* all of them are NaN, on both sides */
        else
            softmax_row(a, a->logits + t * a->E, p, kept, bound + t * a->E);
    bool ok = p && kept;
    free(p);
    free(kept);
    return ok ? TS_OK : ts_no_memory(err, (size_t)a->E * sizeof *p);
}

/* Scratch of one row. */
typedef struct {
    ts_err *s, *choice, *score;
    bool *kept, *group;
} sigmoid_row;

/* The two largest of n choices, added. */
static ts_err group_score(const ts_err *choice, int64_t n)
{
    ts_err first = choice[0], second = {-(double)INFINITY, 0};
    for (int64_t e = 1; e < n; e++)
        if (choice[e].v > first.v) {
            second = first;
            first = choice[e];
        } else if (choice[e].v > second.v) {
            second = choice[e];
        }
    double e = 0;
    for (int64_t i = 0; i < n; i++)
        e = fmax(e, choice[i].e); /* whichever they are in f32 */
    first.e = second.e = e;
    return n > 1 ? ts_err_add(first, second) : first;
}

/* Fills r; false: which groups or experts stay is not certain. */
static bool route(const ts_moe_router_args *a, const float *x, sigmoid_row *r)
{
    const int64_t n = a->E / a->groups;
    for (int64_t e = 0; e < a->E; e++) {
        r->s[e] = ts_err_sigmoid(ts_err_exact(x[e]));
        r->choice[e] = ts_err_add(r->s[e], ts_err_exact(a->bias[e]));
    }
    for (int64_t g = 0; g < a->groups; g++)
        r->score[g] = group_score(r->choice + g * n, n);
    bool certain = selection(r->score, NULL, NULL, a->groups, a->topk_groups, r->group);
    for (int64_t e = 0; e < a->E; e++)
        if (!r->group[e / n])
            r->choice[e] = (ts_err){-(double)INFINITY, 0};
    certain &= selection(r->choice, x, a->bias, a->E, a->k, r->kept);
    for (int64_t e = 0; e < a->E; e++)
        r->kept[e] = r->kept[e] && r->choice[e].v > -(double)INFINITY;
    return certain;
}

static void weight_row(const ts_moe_router_args *a, const float *x, sigmoid_row *r, double *bound)
{
    const ts_err scale = ts_err_param(a->scale);
    const row w = {a->E, a->k, r->choice, r->s};
    if (route(a, x, r))
        weigh(&w, r->kept, a->renorm != 0, 1e-20f, &scale, bound);
    else
        anything(a->E, fabs(a->scale) * (1 + 0x1p-10), bound);
}

ts_status ts_bound_moe_router_sigmoid(const ts_moe_router_args *a, const char *field, double *bound, ts_error *err)
{
    sigmoid_row r = {calloc((size_t)a->E, sizeof *r.s), calloc((size_t)a->E, sizeof *r.choice),
                     calloc((size_t)a->groups, sizeof *r.score), calloc((size_t)a->E, sizeof *r.kept),
                     calloc((size_t)a->groups, sizeof *r.group)};
    bool ok = r.s && r.choice && r.score && r.kept && r.group, weight = strcmp(field, "weight") == 0;
    for (int64_t t = 0; ok && t < a->T; t++) {
        const float *x = a->logits + t * a->E;
        if (has_nan(x, a->E) || has_nan(a->bias, a->E)) {
            anything(weight ? a->E : a->groups, 0, bound + t * (weight ? a->E : a->groups));
        } else if (weight) {
            weight_row(a, x, &r, bound + t * a->E);
        } else {
            route(a, x, &r);
            for (int64_t g = 0; g < a->groups; g++)
                bound[t * a->groups + g] = ts_err_bound(r.score[g]);
        }
    }
    free(r.s);
    free(r.choice);
    free(r.score);
    free(r.kept);
    free(r.group);
    return ok ? TS_OK : ts_no_memory(err, (size_t)a->E * sizeof *r.s);
}

/* y = one fma per expert with a weight */
void ts_bound_moe_accumulate(const ts_moe_accumulate_args *a, double *bound)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t c = 0; c < a->C; c++) {
            ts_err y = {0, 0};
            for (int64_t e = 0; e < a->E; e++) {
                float w = a->weight[t * a->E + e];
                if (w != 0)
                    y = ts_err_fma(ts_err_exact(w), ts_err_exact(a->x[(t * a->E + e) * a->C + c]), y);
            }
            bound[t * a->C + c] = ts_err_bound(y);
        }
}

void ts_bound_row_gate(const ts_row_gate_args *a, double *bound)
{
    for (int64_t i = 0; i < a->T * a->C; i++)
        bound[i] = ts_err_bound(ts_err_mul(ts_err_exact(a->x[i]), ts_err_sigmoid(ts_err_exact(a->gate[i / a->C]))));
}
