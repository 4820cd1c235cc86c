#include "kv.h"
#include "lanes.h"
#include "op.h"

enum { KEYS = 128 };

/* One partition of one row and query head: its visible keys lo .. hi-1 and their weights. */
typedef struct {
    int64_t lo, hi;
    ts_real w[KEYS];
    ts_real m, l;
} partition;

/* s = (q . k_j) scale, the dot in order dot32 over the stored key widened */
static ts_real score(const ts_attention_args *a, const ts_real *q, int64_t j, int64_t kh)
{
    ts_real lane[TS_LANES] = {0}, k[TS_LANES];
    int64_t at = ts_kv_index(&a->kv, a->Hkv, a->D, j, kh);
    for (int64_t c = 0; c < a->D; c += TS_LANES) {
        int64_t n = ts_piece(a->D - c, TS_LANES);
        ts_kv_read(&a->kv, a->kv.k, at + c, n, k);
        ts_lanes_fma(lane, q + c, k, n);
    }
    return ts_lanes_sum(lane) * (ts_real)a->scale;
}

/* m = max_j s_j,  w_j = exp(s_j - m),  l = sum_j w_j over the keys of partition p that row t sees:
 * j < len, j <= pos and pos - j < window. The others do not exist. */
static partition weigh(const ts_attention_args *a, int64_t t, int64_t h, int64_t p)
{
    const ts_real *q = a->q + (t * a->Hq + h) * a->D;
    const int64_t kh = h / (a->Hq / a->Hkv), pos = a->pos[t];
    partition x = {.lo = KEYS * p, .m = -(ts_real)INFINITY};
    x.hi = ts_piece(ts_piece(a->len[t], pos + 1), KEYS * (p + 1));
    if (a->window > 0 && pos - a->window >= x.lo)
        x.lo = pos - a->window + 1;
    for (int64_t j = x.lo; j < x.hi; j++) {
        x.w[j % KEYS] = score(a, q, j, kh);
        if (x.w[j % KEYS] > x.m)
            x.m = x.w[j % KEYS];
    }
    for (int64_t j = x.lo; j < x.hi; j++) {
        x.w[j % KEYS] = ts_exp(x.w[j % KEYS] - x.m);
        x.l = x.l + x.w[j % KEYS];
    }
    return x;
}

/* acc = sum_j w_j v_j for channels c0 .. c0+n-1, n <= 32 */
static void gather(const ts_attention_args *a, const partition *x, int64_t kh, int64_t c0, int64_t n,
                   ts_real acc[TS_LANES])
{
    ts_real v[TS_LANES];
    for (int64_t c = 0; c < n; c++)
        acc[c] = 0;
    for (int64_t j = x->lo; j < x->hi; j++) {
        ts_kv_read(&a->kv, a->kv.v, ts_kv_index(&a->kv, a->Hkv, a->D, j, kh) + c0, n, v);
        for (int64_t c = 0; c < n; c++)
            acc[c] = ts_fma(x->w[j % KEYS], v[c], acc[c]);
    }
}

/* One partition joins the merge: O = O + g acc with weight g, and (m, l, acc) is shown if asked for.
 * `record` numbers (t, h, p). */
static void join(const ts_attention_args *a, const partition *x, int64_t kh, ts_real g, int64_t record, ts_real *O)
{
    if (a->m)
        a->m[record] = x->m;
    if (a->l)
        a->l[record] = x->l;
    for (int64_t c0 = 0; c0 < a->D; c0 += TS_LANES) {
        int64_t n = ts_piece(a->D - c0, TS_LANES);
        ts_real acc[TS_LANES];
        gather(a, x, kh, c0, n, acc);
        for (int64_t c = 0; c < n; c++) {
            if (x->l != 0)
                O[c0 + c] = ts_fma(g, acc[c], O[c0 + c]);
            if (a->acc)
                a->acc[record * a->D + c0 + c] = acc[c];
        }
    }
}

/* M = max m over the partitions with l != 0, that is, with a key (a NaN must show); over those, ascending: g =
 * exp(m - M), L = L + g l, O = O + g acc; then O / L, or +0 without a key. Partitions are evaluated twice (for M,
 * and again for the rest) so that nothing of the length of the context is kept. */
static void row(const ts_attention_args *a, int64_t t, int64_t h)
{
    ts_real *O = a->o + (t * a->Hq + h) * a->D;
    ts_real M = -(ts_real)INFINITY, L = 0;
    for (int64_t p = 0; p < a->parts; p++) {
        partition x = weigh(a, t, h, p);
        if (x.l != 0 && x.m > M)
            M = x.m;
    }
    for (int64_t c = 0; c < a->D; c++)
        O[c] = 0;
    for (int64_t p = 0; p < a->parts; p++) {
        partition x = weigh(a, t, h, p);
        ts_real g = x.l != 0 ? ts_exp(x.m - M) : 0;
        if (x.l != 0)
            L = ts_fma(g, x.l, L);
        join(a, &x, h / (a->Hq / a->Hkv), g, (t * a->Hq + h) * a->parts + p, O);
    }
    for (int64_t c = 0; c < a->D && L != 0; c++)
        O[c] = O[c] / L;
}

/* o = softmax(q k^T scale) v, causal, over the paged cache, in partitions of 128 logical keys: the page
 * table says where a key lies and nothing else. Query head h reads kv head h / (Hq/Hkv); the equations
 * stand over the functions above. A row's bits depend neither on the other rows nor on `parts`, which
 * must cover every key seen.
 *
 * q, o [T,Hq,D]; pos, len [T]; inner m, l [T,Hq,parts], acc [T,Hq,parts,D]; a partition without keys is
 * (-inf, 0, +0). Rounded: every fma and sum of the dot, the product with scale, s - m, exp, every sum of
 * l and fma of acc (keys ascending, from +0), m - M, exp, the fma of L and O, the quotient. Q and the
 * weights are never rounded to a narrower type. */
void ts_attention(const ts_attention_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t h = 0; h < a->Hq; h++)
            row(a, t, h);
}
