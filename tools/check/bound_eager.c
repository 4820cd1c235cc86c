/* Bounds of the orders of attention that go over one row's keys without partitions. */
#include <stdlib.h>

#include "check/bound_op.h"
#include "num/convert.h"

enum { TILE = 64, WINDOW = 256 };

/* One row (t, h). */
typedef struct {
    const ts_attention_args *a;
    const float *q;
    int64_t row, lo, hi, kh;
} keys;

static keys keys_of(const ts_attention_args *a, int64_t row)
{
    int64_t t = row / a->Hq, pos = a->pos[t], len = a->len[t];
    keys x = {.a = a, .q = a->q + row * a->D, .row = row, .kh = row % a->Hq / (a->Hq / a->Hkv)};
    if (!a->both)
        x.hi = len < pos + 1 ? len : pos + 1;
    else
        x.hi = a->window > 0 && pos + a->window < len ? pos + a->window : len;
    x.lo = a->window > 0 && pos >= a->window ? pos - a->window + 1 : 0;
    return x;
}

static ts_err stored(const keys *x, const void *pool, int64_t j, int64_t c)
{
    const ts_kv *kv = &x->a->kv;
    int64_t page = kv->table[j / kv->page];
    int64_t at = ((page * x->a->Hkv + x->kh) * kv->page + j % kv->page) * x->a->D + c;
    if (kv->dtype == TS_KV_REAL)
        return ts_err_exact(((const float *)pool)[at]);
    uint16_t half = ((const uint16_t *)pool)[at];
    return ts_err_exact(kv->dtype == TS_KV_BF16 ? ts_bf16_to_f32(half) : ts_f16_to_f32(half));
}

/* q . k_j in order dot32; narrow over q (NULL: none) */
static ts_err dot(const keys *x, int64_t j, ts_err (*narrow)(ts_err))
{
    ts_err_dot32 d = {0};
    for (int64_t c = 0; c < x->a->D; c++) {
        ts_err q = ts_err_exact(x->q[c]);
        ts_err_dot32_term(&d, c, narrow ? narrow(q) : q, stored(x, x->a->kv.k, j, c));
    }
    return ts_err_dot32_sum(&d);
}

static ts_err score_bf16(const keys *x, int64_t j)
{
    return ts_err_bf16(ts_err_mul(ts_err_bf16(dot(x, j, NULL)), ts_err_param(x->a->scale)));
}

static ts_err score_f16(const keys *x, int64_t j)
{
    return ts_err_mul(dot(x, j, ts_err_f16), ts_err_param(x->a->scale));
}

static ts_err score_chain(const keys *x, int64_t j)
{
    ts_err s = {0, 0};
    for (int64_t c = 0; c < x->a->D; c++)
        s = ts_err_fma(ts_err_exact(x->q[c]), stored(x, x->a->kv.k, j, c), s);
    return ts_err_mul(s, ts_err_param(x->a->scale));
}

static ts_err maximum(const keys *x, ts_err (*score)(const keys *, int64_t))
{
    ts_err m = {(double)-INFINITY, 0};
    for (int64_t j = x->lo; j < x->hi; j++)
        m = ts_err_max(m, score(x, j));
    return m;
}

/* Every channel of the sum of weights times values; weight(x, j, m, l) is what multiplies v_j. */
static void gather(const keys *x, ts_err (*weight)(const keys *, int64_t, ts_err, ts_err), ts_err m, ts_err l,
                   double *bound)
{
    for (int64_t c = 0; c < x->a->D; c++) {
        ts_err o = {0, 0};
        for (int64_t j = x->lo; j < x->hi; j++)
            o = ts_err_fma(stored(x, x->a->kv.v, j, c), weight(x, j, m, l), o);
        bound[x->row * x->a->D + c] = ts_err_bound(o);
    }
}

static ts_err weight_bf16(const keys *x, int64_t j, ts_err m, ts_err l)
{
    return ts_err_bf16(ts_err_div(ts_err_exp(ts_err_sub(score_bf16(x, j), m)), l));
}

/* l: the reciprocal */
static ts_err weight_f16(const keys *x, int64_t j, ts_err m, ts_err l)
{
    return ts_err_f16(ts_err_mul(ts_err_exp(ts_err_sub(score_f16(x, j), m)), l));
}

void ts_bound_attention_bf16(const ts_attention_args *a, double *bound)
{
    for (int64_t row = 0; row < a->T * a->Hq; row++) {
        const keys x = keys_of(a, row);
        ts_err m = maximum(&x, score_bf16), l = {0, 0};
        for (int64_t j = x.lo; j < x.hi; j++)
            l = ts_err_add(l, ts_err_exp(ts_err_sub(score_bf16(&x, j), m)));
        gather(&x, weight_bf16, m, l, bound);
    }
}

void ts_bound_attention_softmax_ggml(const ts_attention_args *a, double *bound)
{
    for (int64_t row = 0; row < a->T * a->Hq; row++) {
        const keys x = keys_of(a, row);
        ts_err m = maximum(&x, score_f16), l = {0, 0};
        for (int64_t j = x.lo; j < x.hi; j++) {
            ts_err w = ts_err_exp(ts_err_sub(score_f16(&x, j), m));
            l = (ts_err){l.v + w.v, l.e + w.e};
        }
        gather(&x, weight_f16, m, ts_err_div((ts_err){1, 0}, l), bound);
    }
}

/* exp(-max(d, 0)) and exp(min(d, 0)), d = s - M: what the running sums and the new key are multiplied with. Which
 * of the two is 1 may differ between the sides where d is within its error of 0; both are continuous there. */
static ts_err factor(ts_err s, ts_err M, bool of_key)
{
    ts_err d = ts_err_sub(s, M), zero = {0, 0};
    if (M.v == (double)-INFINITY) /* the first key */
        return (ts_err){of_key ? 1 : 0, 0};
    ts_err x = of_key ? ts_err_neg(ts_err_max(ts_err_neg(d), zero)) : ts_err_neg(ts_err_max(d, zero));
    return ts_err_exp(x);
}

static void flash_row(const keys *x, ts_err *o, double *bound)
{
    const int64_t D = x->a->D;
    ts_err M = {(double)-INFINITY, 0}, S = {0, 0};
    for (int64_t c = 0; c < D; c++)
        o[c] = (ts_err){0, 0};
    for (int64_t j = x->lo; j < x->hi; j++) {
        ts_err s = score_f16(x, j), r = factor(s, M, false), w = factor(s, M, true);
        for (int64_t c = 0; c < D; c++) {
            ts_err y = ts_err_f16(ts_err_mul(o[c], r));
            o[c] = ts_err_f16(ts_err_fma(stored(x, x->a->kv.v, j, c), w, y));
        }
        S = ts_err_fma(S, r, w);
        M = ts_err_max(M, s);
    }
    ts_err inverse = S.v == 0 ? S : ts_err_div((ts_err){1, 0}, S);
    for (int64_t c = 0; c < D; c++)
        bound[x->row * D + c] = ts_err_bound(ts_err_mul(o[c], inverse));
}

/* Keys lo .. hi-1 of one tile. The output does not depend on what is subtracted before exp, so the maxima are
 * constants here; `slack` is how far they can be from ref32's (docs/contract.md, 6, attention). */
static void tile(const keys *x, int64_t lo, int64_t hi, ts_err *M, double *slack, ts_err *S, ts_err *o)
{
    ts_err w[TILE], m = *M, sum = {0, 0};
    for (int64_t j = lo; j < hi; j++) {
        w[j - lo] = score_chain(x, j);
        m = ts_err_max(m, w[j - lo]);
    }
    *slack = fmax(*slack, m.e);
    m.e = 0;
    ts_err r = factor(m, *M, false);
    for (int64_t j = lo; j < hi; j++) {
        w[j - lo] = ts_err_exp(ts_err_sub(w[j - lo], m));
        sum = (ts_err){sum.v + w[j - lo].v, sum.e + w[j - lo].e};
    }
    *S = ts_err_add(ts_err_mul(*S, r), ts_err_round(sum.v, sum.e, TS_ERR_U, 0));
    *M = m;
    for (int64_t c = 0; c < x->a->D; c++) {
        o[c] = ts_err_mul(o[c], r);
        for (int64_t j = lo; j < hi; j++)
            o[c] = ts_err_fma(stored(x, x->a->kv.v, j, c), w[j - lo], o[c]);
    }
}

static void tiled_row(const keys *x, ts_err *o, double *bound)
{
    const int64_t D = x->a->D;
    ts_err M = {(double)-INFINITY, 0}, S = {0, 0};
    double slack = 0;
    for (int64_t c = 0; c < D; c++)
        o[c] = (ts_err){0, 0};
    for (int64_t j = x->lo, next; j < x->hi; j = next) {
        next = (j / TILE + 1) * TILE < x->hi ? (j / TILE + 1) * TILE : x->hi;
        tile(x, j, next, &M, &slack, &S, o);
    }
    ts_err inverse = S.v == 0 ? S : ts_err_div((ts_err){1, 0}, S);
    for (int64_t c = 0; c < D; c++)
        bound[x->row * D + c] = ts_err_bound(ts_err_mul(o[c], inverse)) * exp(4 * slack);
}

/* A number as the matrix unit takes it. */
static ts_err operand(const keys *x, ts_err a)
{
    return x->a->kv.dtype == TS_KV_F16 ? ts_err_f16(a) : ts_err_bf16(a);
}

static ts_err score_wmma(const keys *x, int64_t j)
{
    ts_err s = {0, 0};
    for (int64_t c = 0; c < x->a->D; c++)
        s = ts_err_fma(operand(x, ts_err_exact(x->q[c])), stored(x, x->a->kv.k, j, c), s);
    return ts_err_mul(s, ts_err_param(x->a->scale));
}

/* Keys lo .. hi-1 of one window. The weights are rounded against the maximum, so it has its error here. */
static void window(const keys *x, int64_t lo, int64_t hi, ts_err *M, ts_err *L, ts_err *o)
{
    ts_err w[WINDOW], m = *M, sum = {0, 0};
    for (int64_t j = lo; j < hi; j++) {
        w[j - lo] = score_wmma(x, j);
        m = ts_err_max(m, w[j - lo]);
    }
    ts_err alpha = ts_err_exp(ts_err_sub(*M, m));
    for (int64_t j = lo; j < hi; j++) {
        w[j - lo] = ts_err_exp(ts_err_sub(w[j - lo], m));
        sum = ts_err_add(sum, w[j - lo]);
        w[j - lo] = operand(x, w[j - lo]);
    }
    *M = m;
    *L = ts_err_fma(*L, alpha, sum);
    for (int64_t c = 0; c < x->a->D; c++) {
        ts_err values = {0, 0};
        for (int64_t j = lo; j < hi; j++)
            values = ts_err_fma(w[j - lo], stored(x, x->a->kv.v, j, c), values);
        o[c] = ts_err_fma(o[c], alpha, values);
    }
}

static void wmma_row(const keys *x, ts_err *o, double *bound)
{
    const int64_t D = x->a->D;
    ts_err M = {(double)-INFINITY, 0}, L = {0, 0};
    for (int64_t c = 0; c < D; c++)
        o[c] = (ts_err){0, 0};
    for (int64_t j = x->lo, next; j < x->hi; j = next) {
        next = (j / WINDOW + 1) * WINDOW < x->hi ? (j / WINDOW + 1) * WINDOW : x->hi;
        window(x, j, next, &M, &L, o);
    }
    for (int64_t c = 0; c < D; c++)
        bound[x->row * D + c] = ts_err_bound(L.v != 0 ? ts_err_div(o[c], L) : o[c]);
}

static ts_status rows(const ts_attention_args *a, void (*one)(const keys *, ts_err *, double *), double *bound,
                      ts_error *err)
{
    ts_err *o = malloc((size_t)a->D * sizeof *o);
    if (!o)
        return ts_no_memory(err, (size_t)a->D * sizeof *o);
    for (int64_t row = 0; row < a->T * a->Hq; row++) {
        const keys x = keys_of(a, row);
        one(&x, o, bound);
    }
    free(o);
    return TS_OK;
}

ts_status ts_bound_attention_flash_ggml(const ts_attention_args *a, double *bound, ts_error *err)
{
    return rows(a, flash_row, bound, err);
}

ts_status ts_bound_attention_tiled_ggml(const ts_attention_args *a, double *bound, ts_error *err)
{
    return rows(a, tiled_row, bound, err);
}

ts_status ts_bound_attention_wmma(const ts_attention_args *a, double *bound, ts_error *err)
{
    return rows(a, wmma_row, bound, err);
}
