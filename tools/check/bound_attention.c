/* Bound of split attention: o, and the partial results m, l, acc. */
#include <stdlib.h>
#include <string.h>

#include "check/bound_op.h"
#include "num/convert.h"

enum { PART = 128 };

/* One partition of one (row, query head). The weights are relative to `shift`: m with its error, or for o,
 * whose quotient is the same whatever is subtracted, m as a constant. */
typedef struct {
    ts_err m, shift, l;
    ts_err *acc; /* [D] */
} part;

/* Element c of the key or value of token j, head h. */
static ts_err kv_get(const ts_attention_args *a, const void *pool, int64_t j, int64_t h, int64_t c)
{
    const ts_kv *kv = &a->kv;
    int64_t at = ((kv->table[j / kv->page] * a->Hkv + h) * kv->page + j % kv->page) * a->D + c;
    uint16_t half = kv->dtype == TS_KV_REAL ? 0 : ((const uint16_t *)pool)[at];
    return ts_err_exact(kv->dtype == TS_KV_BF16  ? ts_bf16_to_f32(half)
                        : kv->dtype == TS_KV_F16 ? ts_f16_to_f32(half)
                                                 : ((const float *)pool)[at]);
}

static bool visible(const ts_attention_args *a, int64_t t, int64_t j)
{
    return j < a->len[t] && j <= a->pos[t] && (a->window <= 0 || a->pos[t] - j < a->window);
}

/* s_j = dot32(q, k_j) scale */
static ts_err score(const ts_attention_args *a, const float *q, int64_t j, int64_t h)
{
    ts_err_dot32 d = {0};
    for (int64_t c = 0; c < a->D; c++)
        ts_err_dot32_term(&d, c, ts_err_exact(q[c]), kv_get(a, a->kv.k, j, h, c));
    return ts_err_mul(ts_err_dot32_sum(&d), ts_err_param(a->scale));
}

/* m = max s; w = exp(s - m); l = sum w; acc = sum w v */
static void partition(const ts_attention_args *a, int64_t row, int64_t p, bool any_shift, part *out)
{
    int64_t t = row / a->Hq, hq = row % a->Hq;
    const float *q = a->q + (t * a->Hq + hq) * a->D;
    int64_t h = hq / (a->Hq / a->Hkv), first = p * PART;
    ts_err s[PART];
    out->m = (ts_err){(double)-INFINITY, 0};
    out->l = (ts_err){0, 0};
    for (int64_t c = 0; c < a->D; c++)
        out->acc[c] = (ts_err){0, 0};
    for (int64_t j = first; j < first + PART; j++)
        if (visible(a, t, j)) {
            s[j - first] = score(a, q, j, h);
            out->m = ts_err_max(out->m, s[j - first]);
        }
    out->shift = (ts_err){out->m.v, any_shift ? 0 : out->m.e};
    for (int64_t j = first; j < first + PART; j++)
        if (visible(a, t, j)) {
            ts_err w = ts_err_exp(ts_err_sub(s[j - first], out->shift));
            out->l = ts_err_add(out->l, w);
            for (int64_t c = 0; c < a->D; c++)
                out->acc[c] = ts_err_fma(w, kv_get(a, a->kv.v, j, h, c), out->acc[c]);
        }
}

/* Channel c of the merge over the partitions that have keys. The constants differ from ref32's maxima by
 * up to `slack`: errors scale by less than exp(4 slack). */
static double merged(const part *p, int64_t parts, int64_t c)
{
    ts_err M = {(double)-INFINITY, 0}, L = {0, 0}, O = {0, 0};
    double slack = 0;
    for (int64_t i = 0; i < parts; i++)
        if (p[i].l.v != 0) {
            M = ts_err_max(M, p[i].shift);
            slack = fmax(slack, p[i].m.e);
        }
    for (int64_t i = 0; i < parts; i++)
        if (p[i].l.v != 0) {
            ts_err g = ts_err_exp(ts_err_sub(p[i].shift, M));
            L = ts_err_fma(g, p[i].l, L);
            O = ts_err_fma(g, p[i].acc[c], O);
        }
    ts_err o = L.v != 0 ? ts_err_div(O, L) : O;
    return o.e > 0 ? ts_err_bound(o) * exp(4 * slack) : 0;
}

/* The field's elements of one (row, query head). */
static void emit(const ts_attention_args *a, const part *p, int64_t row, const char *field, double *bound)
{
    for (int64_t c = 0; c < a->D && strcmp(field, "o") == 0; c++)
        bound[row * a->D + c] = merged(p, a->parts, c);
    for (int64_t i = 0; i < a->parts; i++) {
        int64_t at = row * a->parts + i;
        if (strcmp(field, "m") == 0)
            bound[at] = ts_err_bound(p[i].m);
        if (strcmp(field, "l") == 0)
            bound[at] = ts_err_bound(p[i].l);
        for (int64_t c = 0; c < a->D && strcmp(field, "acc") == 0; c++)
            bound[at * a->D + c] = ts_err_bound(p[i].acc[c]);
    }
}

ts_status ts_bound_attention(const ts_attention_args *a, const char *field, double *bound, ts_error *err)
{
    part *p = calloc((size_t)a->parts, sizeof *p);
    ts_err *acc = calloc((size_t)(a->parts * a->D), sizeof *acc);
    if (!p || !acc) {
        free(p);
        free(acc);
        return ts_no_memory(err, (size_t)a->parts * (sizeof *p + (size_t)a->D * sizeof *acc));
    }
    for (int64_t row = 0; row < a->T * a->Hq; row++) {
        for (int64_t i = 0; i < a->parts; i++) {
            p[i].acc = acc + i * a->D;
            partition(a, row, i, strcmp(field, "o") == 0, &p[i]);
        }
        emit(a, p, row, field, bound);
    }
    free(acc);
    free(p);
    return TS_OK;
}
