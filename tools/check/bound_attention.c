/* Bounds of what follows order split128: attention's o and partial results m, l, acc, and latent attention's. */
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

/* A form of attention: rows of queries of H heads over values of D channels. */
typedef struct form form;
struct form {
    const void *args;
    const int32_t *pos, *len;
    int64_t T, H, D, parts, window, both;
    ts_err (*score)(const form *f, int64_t row, int64_t j);
    ts_err (*value)(const form *f, int64_t row, int64_t j, int64_t c);
    const ts_err *query; /* in latent space, of the row at hand */
};

static ts_err pool_get(const ts_kv *kv, const void *pool, int64_t at)
{
    const uint8_t *code = pool;
    const float *scale = pool == kv->v ? kv->v_scale : kv->k_scale;
    switch (kv->dtype) {
    case TS_KV_BF16:
        return ts_err_exact(ts_bf16_to_f32(((const uint16_t *)pool)[at]));
    case TS_KV_F16:
        return ts_err_exact(ts_f16_to_f32(((const uint16_t *)pool)[at]));
    case TS_KV_E4M3:
        return ts_err_mul(ts_err_exact(ts_e4m3_to_f32(code[at])), ts_err_exact(scale[at / kv->width]));
    case TS_KV_E5M2:
        return ts_err_mul(ts_err_exact(ts_e5m2_to_f32(code[at])), ts_err_exact(scale[at / kv->width]));
    default:
        return ts_err_exact(((const float *)pool)[at]);
    }
}

/* Index of channel 0 of token j, head h of rows of Hkv heads of D channels. */
static int64_t pool_row(const ts_kv *kv, int64_t Hkv, int64_t D, int64_t j, int64_t h)
{
    return ((kv->table[j / kv->page] * Hkv + h) * kv->page + j % kv->page) * D;
}

static bool visible(const form *f, int64_t t, int64_t j)
{
    int64_t back = f->pos[t] - j;
    return j < f->len[t] && (f->both || back >= 0) && (f->window <= 0 || (back < f->window && -back < f->window));
}

/* m = max s; w = exp(s - m); l = sum w; acc = sum w v */
static void partition(const form *f, int64_t row, int64_t p, bool any_shift, part *out)
{
    int64_t t = row / f->H, first = p * PART;
    ts_err s[PART];
    out->m = (ts_err){(double)-INFINITY, 0};
    out->l = (ts_err){0, 0};
    for (int64_t c = 0; c < f->D; c++)
        out->acc[c] = (ts_err){0, 0};
    for (int64_t j = first; j < first + PART; j++)
        if (visible(f, t, j)) {
            s[j - first] = f->score(f, row, j);
            out->m = ts_err_max(out->m, s[j - first]);
        }
    out->shift = (ts_err){out->m.v, any_shift ? 0 : out->m.e};
    for (int64_t j = first; j < first + PART; j++)
        if (visible(f, t, j)) {
            ts_err w = ts_err_exp(ts_err_sub(s[j - first], out->shift));
            out->l = ts_err_add(out->l, w);
            for (int64_t c = 0; c < f->D; c++)
                out->acc[c] = ts_err_fma(w, f->value(f, row, j, c), out->acc[c]);
        }
}

/* Channel c of the merge over the partitions that have keys. The constants differ from ref32's maxima by
 * up to `slack`: errors scale by less than exp(4 slack). */
static ts_err merged(const part *p, int64_t parts, int64_t c)
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
    return (ts_err){o.v, o.e > 0 ? o.e * exp(4 * slack) : 0};
}

/* m, l or acc of one (row, query head). */
static void emit_records(const form *f, const part *p, int64_t row, const char *field, double *bound)
{
    for (int64_t i = 0; i < f->parts; i++) {
        int64_t at = row * f->parts + i;
        if (strcmp(field, "m") == 0)
            bound[at] = ts_err_bound(p[i].m);
        if (strcmp(field, "l") == 0)
            bound[at] = ts_err_bound(p[i].l);
        for (int64_t c = 0; c < f->D && strcmp(field, "acc") == 0; c++)
            bound[at * f->D + c] = ts_err_bound(p[i].acc[c]);
    }
}

static part *parts_new(const form *f)
{
    part *p = calloc((size_t)f->parts, sizeof *p + (size_t)f->D * sizeof(ts_err));
    for (int64_t i = 0; p && i < f->parts; i++)
        p[i].acc = (ts_err *)(p + f->parts) + i * f->D;
    return p;
}

static void partitions(const form *f, int64_t row, bool any_shift, part *p)
{
    for (int64_t i = 0; i < f->parts; i++)
        partition(f, row, i, any_shift, &p[i]);
}

/* s_j = dot32(q, k_j) scale */
static ts_err attention_score(const form *f, int64_t row, int64_t j)
{
    const ts_attention_args *a = f->args;
    int64_t at = pool_row(&a->kv, a->Hkv, a->D, j, row % a->Hq / (a->Hq / a->Hkv));
    ts_err_dot32 d = {0};
    for (int64_t c = 0; c < a->D; c++)
        ts_err_dot32_term(&d, c, ts_err_exact(a->q[row * a->D + c]), pool_get(&a->kv, a->kv.k, at + c));
    return ts_err_mul(ts_err_dot32_sum(&d), ts_err_param(a->scale));
}

/* The same dot, its lanes folded with masks 16, 8, 4, 2, 1. */
static ts_err attention_score_lse(const form *f, int64_t row, int64_t j)
{
    const ts_attention_args *a = f->args;
    int64_t at = pool_row(&a->kv, a->Hkv, a->D, j, row % a->Hq / (a->Hq / a->Hkv));
    ts_err_dot32 d = {0};
    for (int64_t c = 0; c < a->D; c++)
        ts_err_dot32_term(&d, c, ts_err_exact(a->q[row * a->D + c]), pool_get(&a->kv, a->kv.k, at + c));
    return ts_err_mul(ts_err_fold(d.lane), ts_err_param(a->scale));
}

static ts_err attention_value(const form *f, int64_t row, int64_t j, int64_t c)
{
    const ts_attention_args *a = f->args;
    return pool_get(&a->kv, a->kv.v, pool_row(&a->kv, a->Hkv, a->D, j, row % a->Hq / (a->Hq / a->Hkv)) + c);
}

/* M, or L, which is relative to it. */
static void emit_merged(const part *p, int64_t parts, char field, double *bound)
{
    ts_err M = {(double)-INFINITY, 0}, L = {0, 0};
    for (int64_t i = 0; i < parts; i++)
        if (p[i].l.v != 0)
            M = ts_err_max(M, p[i].m);
    for (int64_t i = 0; i < parts; i++)
        if (p[i].l.v != 0)
            L = ts_err_fma(ts_err_exp(ts_err_sub(p[i].m, M)), p[i].l, L);
    *bound = ts_err_bound(field == 'M' ? M : L);
}

static ts_status attention(const ts_attention_args *a, ts_err (*score)(const form *, int64_t, int64_t),
                           const char *field, double *bound, ts_error *err)
{
    form f = {a, a->pos, a->len, a->T, a->Hq, a->D, a->parts, a->window, a->both, score, attention_value, NULL};
    bool o = strcmp(field, "o") == 0;
    part *p = parts_new(&f);
    for (int64_t row = 0; p && row < f.T * f.H; row++) {
        partitions(&f, row, o, p);
        for (int64_t c = 0; c < f.D && o; c++)
            bound[row * f.D + c] = ts_err_bound(merged(p, f.parts, c));
        if (field[0] == 'M' || field[0] == 'L')
            emit_merged(p, f.parts, field[0], bound + row);
        emit_records(&f, p, row, field, bound);
    }
    free(p);
    return p ? TS_OK : ts_no_memory(err, (size_t)(f.parts * (f.D + 1)) * sizeof *p);
}

ts_status ts_bound_attention(const ts_attention_args *a, const char *field, double *bound, ts_error *err)
{
    return attention(a, attention_score, field, bound, err);
}

ts_status ts_bound_attention_lse(const ts_attention_args *a, double *bound, ts_error *err)
{
    return attention(a, attention_score_lse, "o", bound, err);
}

/* One (row, query head) of records that are exact. */
static void merge_row(const ts_attention_merge_args *a, int64_t row, const char *field, part *p, double *bound)
{
    for (int64_t i = 0; i < a->parts; i++) {
        int64_t at = row * a->parts + i;
        p[i].m = p[i].shift = ts_err_exact(a->m[at]);
        p[i].l = ts_err_exact(a->l[at]);
        for (int64_t c = 0; c < a->D; c++)
            p[i].acc[c] = ts_err_exact(a->acc[at * a->D + c]);
    }
    for (int64_t c = 0; c < a->D && field[0] == 'o'; c++)
        bound[row * a->D + c] = ts_err_bound(merged(p, a->parts, c));
    if (field[0] != 'o')
        emit_merged(p, a->parts, field[0], bound + row);
}

ts_status ts_bound_attention_merge(const ts_attention_merge_args *a, const char *field, double *bound,
                                   ts_error *err)
{
    form f = {.D = a->D, .parts = a->parts};
    part *p = parts_new(&f);
    for (int64_t row = 0; p && row < a->T * a->Hq; row++)
        merge_row(a, row, field, p, bound);
    free(p);
    return p ? TS_OK : ts_no_memory(err, (size_t)(f.parts * (f.D + 1)) * sizeof *p);
}

/* latent_j . row n of w, in order dot32 */
static ts_err expanded(const ts_mla_args *a, int64_t j, int64_t n)
{
    int64_t at = pool_row(&a->kv, 1, a->R + a->Dr, j, 0);
    ts_err_dot32 d = {0};
    for (int64_t r = 0; r < a->R; r++)
        ts_err_dot32_term(&d, r, pool_get(&a->kv, a->kv.k, at + r), ts_err_weight(a->w, n, r));
    return ts_err_dot32_sum(&d);
}

/* Channel i of the part of the key that all heads share. */
static ts_err shared(const ts_mla_args *a, int64_t j, int64_t i)
{
    return pool_get(&a->kv, a->kv.k, pool_row(&a->kv, 1, a->R + a->Dr, j, 0) + a->R + i);
}

static ts_err mla_score(const form *f, int64_t row, int64_t j)
{
    const ts_mla_args *a = f->args;
    int64_t first = row % a->H * (a->Dn + a->Dv);
    ts_err_dot32 d = {0};
    for (int64_t c = 0; c < a->Dn + a->Dr; c++)
        ts_err_dot32_term(&d, c, ts_err_exact(a->q[row * (a->Dn + a->Dr) + c]),
                          c < a->Dn ? expanded(a, j, first + c) : shared(a, j, c - a->Dn));
    return ts_err_mul(ts_err_dot32_sum(&d), ts_err_param(a->scale));
}

static ts_err mla_value(const form *f, int64_t row, int64_t j, int64_t c)
{
    const ts_mla_args *a = f->args;
    return expanded(a, j, row % a->H * (a->Dn + a->Dv) + a->Dn + c);
}

ts_status ts_bound_mla_attention(const ts_mla_args *a, const char *field, double *bound, ts_error *err)
{
    form f = {a, a->pos, a->len, a->T, a->H, a->Dv, a->parts, 0, 0, mla_score, mla_value, NULL};
    bool o = strcmp(field, "o") == 0;
    part *p = parts_new(&f);
    for (int64_t row = 0; p && row < f.T * f.H; row++) {
        partitions(&f, row, o, p);
        for (int64_t c = 0; c < f.D && o; c++)
            bound[row * f.D + c] = ts_err_bound(merged(p, f.parts, c));
        emit_records(&f, p, row, field, bound);
    }
    free(p);
    return p ? TS_OK : ts_no_memory(err, (size_t)(f.parts * (f.D + 1)) * sizeof *p);
}

static ts_err absorbed_score(const form *f, int64_t row, int64_t j)
{
    const ts_mla_args *a = f->args;
    int64_t at = pool_row(&a->kv, 1, a->R + a->Dr, j, 0);
    ts_err_dot32 d = {0};
    for (int64_t c = 0; c < a->R + a->Dr; c++)
        ts_err_dot32_term(&d, c,
                          c < a->R ? f->query[c] : ts_err_exact(a->q[row * (a->Dn + a->Dr) + a->Dn + c - a->R]),
                          pool_get(&a->kv, a->kv.k, at + c));
    return ts_err_mul(ts_err_dot32_sum(&d), ts_err_param(a->scale));
}

static ts_err absorbed_value(const form *f, int64_t row, int64_t j, int64_t c)
{
    const ts_mla_args *a = f->args;
    (void)row;
    return pool_get(&a->kv, a->kv.k, pool_row(&a->kv, 1, a->R + a->Dr, j, 0) + c);
}

/* ql_r: a chain over the Dn key rows of the head. */
static void latent_query(const ts_mla_args *a, int64_t row, ts_err *ql)
{
    for (int64_t r = 0; r < a->R; r++) {
        ql[r] = (ts_err){0, 0};
        for (int64_t i = 0; i < a->Dn; i++)
            ql[r] = ts_err_fma(ts_err_exact(a->q[row * (a->Dn + a->Dr) + i]),
                               ts_err_weight(a->w, row % a->H * (a->Dn + a->Dv) + i, r), ql[r]);
    }
}

/* ql, ol or o of one (row, head); `latent` becomes the result in latent space. */
static void emit_absorbed(const form *f, const part *p, int64_t row, const char *field, ts_err *latent,
                          double *bound)
{
    const ts_mla_args *a = f->args;
    for (int64_t r = 0; r < a->R && strcmp(field, "ql") == 0; r++)
        bound[row * a->R + r] = ts_err_bound(f->query[r]);
    for (int64_t r = 0; r < a->R && field[0] == 'o'; r++)
        latent[r] = merged(p, a->parts, r);
    for (int64_t r = 0; r < a->R && strcmp(field, "ol") == 0; r++)
        bound[row * a->R + r] = ts_err_bound(latent[r]);
    for (int64_t c = 0; c < a->Dv && strcmp(field, "o") == 0; c++) {
        ts_err_dot32 d = {0};
        for (int64_t r = 0; r < a->R; r++)
            ts_err_dot32_term(&d, r, latent[r], ts_err_weight(a->w, row % a->H * (a->Dn + a->Dv) + a->Dn + c, r));
        bound[row * a->Dv + c] = ts_err_bound(ts_err_dot32_sum(&d));
    }
}

ts_status ts_bound_mla_absorbed(const ts_mla_args *a, const char *field, double *bound, ts_error *err)
{
    ts_err *query = calloc((size_t)a->R, 2 * sizeof *query);
    form f = {a, a->pos, a->len, a->T, a->H, a->R, a->parts, 0, 0, absorbed_score, absorbed_value, query};
    part *p = query ? parts_new(&f) : NULL;
    for (int64_t row = 0; p && row < f.T * f.H; row++) {
        latent_query(a, row, query);
        partitions(&f, row, field[0] == 'o', p);
        emit_absorbed(&f, p, row, field, query + a->R, bound);
        emit_records(&f, p, row, field, bound);
    }
    free(p);
    free(query);
    return p ? TS_OK : ts_no_memory(err, (size_t)(f.parts * (f.D + 1)) * sizeof *p);
}
