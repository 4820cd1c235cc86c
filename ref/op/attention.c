#include "kv.h"
#include "lanes.h"
#include "op.h"
#include "split128.h"

/* s = (q . k_j) scale, the dot in order dot32 over the stored key widened */
static ts_real score(const void *args, int64_t t, int64_t h, int64_t j)
{
    const ts_attention_args *a = args;
    const ts_real *q = a->q + (t * a->Hq + h) * a->D;
    ts_real lane[TS_LANES] = {0}, k[TS_LANES];
    int64_t at = ts_kv_index(&a->kv, a->Hkv, a->D, j, h / (a->Hq / a->Hkv));
    for (int64_t c = 0; c < a->D; c += TS_LANES) {
        int64_t n = ts_piece(a->D - c, TS_LANES);
        ts_kv_read(&a->kv, a->kv.k, at + c, n, k);
        ts_lanes_fma(lane, q + c, k, n);
    }
    return ts_lanes_sum(lane) * (ts_real)a->scale;
}

static void value(const void *args, int64_t h, int64_t j, int64_t c0, int64_t n, ts_real *v)
{
    const ts_attention_args *a = args;
    ts_kv_read(&a->kv, a->kv.v, ts_kv_index(&a->kv, a->Hkv, a->D, j, h / (a->Hq / a->Hkv)) + c0, n, v);
}

static ts_split_row row_of(const ts_attention_args *a, int64_t t, int64_t h)
{
    ts_split_row r = {.args = a, .t = t, .h = h, .D = a->D, .exp = ts_exp, .score = score, .value = value};
    r.seen = ts_seen_from(a->pos[t], a->len[t], a->window, a->both);
    return r;
}

/* o = softmax(q k^T scale) v, causal, over the paged cache, in partitions of 128 logical keys: the page
 * table says where a key lies and nothing else. Query head h reads kv head h / (Hq/Hkv); partitions and their
 * merge are split128.c's. A row's bits depend neither on the other rows nor on `parts`, which
 * must cover every key seen.
 *
 * q, o [T,Hq,D]; pos, len [T]; inner m, l [T,Hq,parts], acc [T,Hq,parts,D]; a partition without keys is
 * (-inf, 0, +0); inner M, L [T,Hq]: log sum exp(s) is M + log L, and a row without keys has (-inf, 0) and o = +0.
 * Rounded: every fma and sum of the dot, the product with scale, s - m, exp, every sum of
 * l and fma of acc (keys ascending, from +0), m - M, exp, the fma of L and O, the quotient. Q and the
 * weights are never rounded to a narrower type. */
void ts_attention(const ts_attention_args *a)
{
    const ts_split_out all = {a->o, a->m, a->l, a->acc, a->M, a->L};
    for (int64_t i = 0; i < a->T * a->Hq; i++) {
        ts_split_row r = row_of(a, i / a->Hq, i % a->Hq);
        ts_split_out out = ts_split_at(&all, i, a->parts, a->D);
        ts_split_attend(&r, a->parts, &out);
    }
}

/* The records m, l [T,Hq,parts], acc [T,Hq,parts,D] of attention, as outputs; o, M and L are not looked at.
 * attention_merge of them is attention, bit for bit. Rounded: as in attention, up to acc. */
void ts_attention_partial(const ts_attention_args *a)
{
    const ts_split_out all = {.m = a->m, .l = a->l, .acc = a->acc};
    for (int64_t i = 0; i < a->T * a->Hq; i++) {
        ts_split_row r = row_of(a, i / a->Hq, i % a->Hq);
        ts_split_out out = ts_split_at(&all, i, a->parts, a->D);
        for (int64_t p = 0; p < a->parts; p++)
            ts_split_partial(&r, p, out.m + p, out.l + p, out.acc + p * a->D);
    }
}
