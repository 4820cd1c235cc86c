#include "schedule.h"

#include "cpu/portable/dot32.h"
#include "cpu/portable/elementary.h"
#include "cpu/portable/widen.h"

enum { PART = 128, KEPT = 64, BLOCK = 64, MAX_D = 1024 };

/* The weights of one partition: w_j of its visible keys, their maximum score and sum. */
typedef struct {
    int64_t key, n; /* first visible key, how many */
    float m, l, w[PART];
} part;

/* One query row and head. The merge needs the maximum over all partitions before it can add the
 * first, so weights are made in a first sweep; the first KEPT partitions keep them, later ones
 * are made again in the second (the same bits). */
typedef struct {
    const ts_attention_args *a;
    int64_t t, h, kvh;
    part kept[KEPT + 1];
} row;

/* Offset of key j's row in the pools. */
static inline int64_t at(const row *r, int64_t j)
{
    const ts_kv *kv = &r->a->kv;
    return ((kv->table[j / kv->page] * r->a->Hkv + r->kvh) * kv->page + j % kv->page) * r->a->D;
}

static float score(const row *r, const float *q, int64_t j)
{
    const ts_attention_args *a = r->a;
    const uint16_t *half = (const uint16_t *)a->kv.k + at(r, j);
    float dot = a->kv.dtype == TS_KV_BF16  ? ts_fast_dot32_bf16(q, half, a->D)
                : a->kv.dtype == TS_KV_F16 ? ts_fast_dot32_f16(q, half, a->D)
                                           : ts_fast_dot32(q, (const float *)a->kv.k + at(r, j), a->D);
    return dot * (float)a->scale;
}

/* No key from here on is seen by the row at pos that has len keys. */
static int64_t end_of(const ts_attention_args *a, int64_t pos, int64_t len)
{
    int64_t reach = !a->both ? 1 : a->window > 0 ? a->window : len;
    return len < pos + reach ? len : pos + reach;
}

/* Partition p, made in its kept slot, or in the last if it has none. */
static part *weigh(row *r, int64_t p)
{
    const ts_attention_args *a = r->a;
    part *out = &r->kept[p < KEPT ? p : KEPT];
    const float *q = a->q + (r->t * a->Hq + r->h) * a->D;
    int64_t pos = a->pos[r->t], seen = end_of(a, pos, a->len[r->t]);
    int64_t first = PART * p, end = PART * (p + 1);
    if (a->window > 0 && pos - a->window + 1 > first)
        first = pos - a->window + 1;
    end = seen < end ? seen : end;
    out->key = first;
    out->n = end > first ? end - first : 0;
    out->m = -INFINITY;
    out->l = 0.0f;
    for (int64_t i = 0; i < out->n; i++) {
        out->w[i] = score(r, q, first + i);
        out->m = out->w[i] > out->m ? out->w[i] : out->m;
    }
    for (int64_t i = 0; i < out->n; i++)
        out->w[i] = ts_fast_exp(out->w[i] - out->m);
    for (int64_t i = 0; i < out->n; i++)
        out->l += out->w[i];
    return out;
}

/* acc[c .. c+n) = chain over the partition's keys; n <= BLOCK values stay in registers. */
static inline void gather_f32(const row *r, const part *p, int64_t c, int n, float *acc)
{
    const float *v = (const float *)r->a->kv.v + c;
    float s[BLOCK] = {0};
    for (int64_t i = 0; i < p->n; i++) {
        const float *vj = v + at(r, p->key + i);
        for (int k = 0; k < n; k++)
            s[k] = ts_fma(p->w[i], vj[k], s[k]);
    }
    memcpy(acc + c, s, (size_t)n * sizeof *s);
}

static inline void gather_bf16(const row *r, const part *p, int64_t c, int n, float *acc)
{
    const uint16_t *v = (const uint16_t *)r->a->kv.v + c;
    float s[BLOCK] = {0};
    for (int64_t i = 0; i < p->n; i++) {
        const uint16_t *vj = v + at(r, p->key + i);
        for (int k = 0; k < n; k++)
            s[k] = ts_fma(p->w[i], ts_bf16_to_f32(vj[k]), s[k]);
    }
    memcpy(acc + c, s, (size_t)n * sizeof *s);
}

static inline void gather_f16(const row *r, const part *p, int64_t c, int n, float *acc)
{
    const uint16_t *v = (const uint16_t *)r->a->kv.v + c;
    float s[BLOCK] = {0};
    for (int64_t i = 0; i < p->n; i++) {
        const uint16_t *vj = v + at(r, p->key + i);
        for (int k = 0; k < n; k++)
            s[k] = ts_fma(p->w[i], ts_fast_half(vj[k]), s[k]);
    }
    memcpy(acc + c, s, (size_t)n * sizeof *s);
}

/* Inlined with n = BLOCK, whose loops then have a fixed length. */
static inline void gather_some(const row *r, const part *p, int64_t c, int n, float *acc)
{
    if (r->a->kv.dtype == TS_KV_BF16)
        gather_bf16(r, p, c, n, acc);
    else if (r->a->kv.dtype == TS_KV_F16)
        gather_f16(r, p, c, n, acc);
    else
        gather_f32(r, p, c, n, acc);
}

static void gather(const row *r, const part *p, float *acc)
{
    int64_t D = r->a->D, c = 0;
    for (; c + BLOCK <= D; c += BLOCK)
        gather_some(r, p, c, BLOCK, acc);
    if (c < D)
        gather_some(r, p, c, (int)(D - c), acc);
}

/* The inner tensors, where the caller gave room for them. */
static void expose(const row *r, int64_t p, const part *in, const float *acc)
{
    const ts_attention_args *a = r->a;
    int64_t i = (r->t * a->Hq + r->h) * a->parts + p;
    if (a->m)
        a->m[i] = in->m;
    if (a->l)
        a->l[i] = in->l;
    if (a->acc)
        memcpy(a->acc + i * a->D, acc, (size_t)a->D * sizeof *acc);
}

static void attend(row *r, float *o)
{
    const ts_attention_args *a = r->a;
    float acc[MAX_D], M = -INFINITY, L = 0.0f;
    for (int64_t p = 0; p < a->parts; p++) {
        const part *in = weigh(r, p);
        M = in->l != 0.0f && in->m > M ? in->m : M;
    }
    memset(o, 0, (size_t)a->D * sizeof *o);
    for (int64_t p = 0; p < a->parts; p++) {
        const part *in = p < KEPT ? &r->kept[p] : weigh(r, p);
        gather(r, in, acc);
        expose(r, p, in, acc);
        if (in->l == 0.0f)
            continue;
        float g = ts_fast_exp(in->m - M);
        L = ts_fma(g, in->l, L);
        for (int64_t c = 0; c < a->D; c++)
            o[c] = ts_fma(g, acc[c], o[c]);
    }
    if (L != 0.0f)
        for (int64_t c = 0; c < a->D; c++)
            o[c] = o[c] / L;
}

static void run(const void *args, int64_t begin, int64_t end)
{
    row r;
    r.a = args;
    for (int64_t u = begin; u < end; u++) {
        r.t = u / r.a->Hq;
        r.h = u % r.a->Hq;
        r.kvh = r.h / (r.a->Hq / r.a->Hkv);
        attend(&r, r.a->o + u * r.a->D);
    }
}

static bool accepts(const void *args)
{
    const ts_attention_args *a = args;
    return a->D <= MAX_D && a->kv.dtype <= TS_KV_F16;
}

const ts_schedule ts_attention_portable = {
    .name = "attention.portable",
    .op = TS_OP_ATTENTION,
    .backend = "cpu",
    .shapes = "any",
    .order = "split128",
    .profile = "any",
    .exposes = "m,l,acc",
    .accepts = accepts,
    .run = run,
};
