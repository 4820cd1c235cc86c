#include "split128.h"

#include "lanes.h"
#include "op.h"

/* One partition of one row and query head: its visible keys lo .. hi-1 and their weights. */
typedef struct {
    int64_t lo, hi;
    ts_real w[TS_SPLIT_KEYS];
    ts_real m, l;
} partition;

/* m = max_j s_j,  w_j = exp(s_j - m),  l = sum_j w_j over the keys of partition p that the row sees. The others do
 * not exist. */
static partition weigh(const ts_split_row *r, int64_t p)
{
    partition x = {.lo = TS_SPLIT_KEYS * p, .m = -(ts_real)INFINITY};
    x.hi = ts_piece(r->seen.hi, TS_SPLIT_KEYS * (p + 1));
    if (r->seen.lo > x.lo)
        x.lo = r->seen.lo;
    for (int64_t j = x.lo; j < x.hi; j++) {
        ts_real s = r->score(r->args, r->t, r->h, j);
        x.w[j % TS_SPLIT_KEYS] = s;
        if (s > x.m)
            x.m = s;
    }
    for (int64_t j = x.lo; j < x.hi; j++) {
        x.w[j % TS_SPLIT_KEYS] = r->exp(x.w[j % TS_SPLIT_KEYS] - x.m);
        x.l = x.l + x.w[j % TS_SPLIT_KEYS];
    }
    return x;
}

/* acc = sum_j w_j v_j for channels c0 .. c0+n-1, n <= 32 */
static void gather(const ts_split_row *r, const partition *x, int64_t c0, int64_t n, ts_real acc[TS_LANES])
{
    ts_real v[TS_LANES];
    for (int64_t c = 0; c < n; c++)
        acc[c] = 0;
    for (int64_t j = x->lo; j < x->hi; j++) {
        r->value(r->args, r->h, j, c0, n, v);
        for (int64_t c = 0; c < n; c++)
            acc[c] = ts_fma(x->w[j % TS_SPLIT_KEYS], v[c], acc[c]);
    }
}

void ts_split_partial(const ts_split_row *r, int64_t p, ts_real *m, ts_real *l, ts_real *acc)
{
    partition x = weigh(r, p);
    *m = x.m;
    *l = x.l;
    for (int64_t c0 = 0; c0 < r->D; c0 += TS_LANES)
        gather(r, &x, c0, ts_piece(r->D - c0, TS_LANES), acc + c0);
}

/* One partition joins the merge: O = O + g acc with weight g; acc [D] is shown if asked for. */
static void join(const ts_split_row *r, const partition *x, ts_real g, ts_real *O, ts_real *shown)
{
    for (int64_t c0 = 0; c0 < r->D; c0 += TS_LANES) {
        int64_t n = ts_piece(r->D - c0, TS_LANES);
        ts_real acc[TS_LANES];
        gather(r, x, c0, n, acc);
        for (int64_t c = 0; c < n; c++) {
            if (x->l != 0)
                O[c0 + c] = ts_fma(g, acc[c], O[c0 + c]);
            if (shown)
                shown[c0 + c] = acc[c];
        }
    }
}

static void finish(int64_t D, ts_real M, ts_real L, const ts_split_out *out)
{
    for (int64_t c = 0; c < D && L != 0; c++)
        out->o[c] = out->o[c] / L;
    if (out->M)
        *out->M = M;
    if (out->L)
        *out->L = L;
}

/* M = max m over the partitions with l != 0, that is, with a key (a NaN must show); over those, ascending: g =
 * exp(m - M), L = L + g l, O = O + g acc; then O / L, or +0 without a key. Partitions are evaluated twice (for M,
 * and again for the rest) so that nothing of the length of the context is kept. */
void ts_split_attend(const ts_split_row *r, int64_t parts, const ts_split_out *out)
{
    ts_real M = -(ts_real)INFINITY, L = 0;
    for (int64_t p = 0; p < parts; p++) {
        partition x = weigh(r, p);
        if (x.l != 0 && x.m > M)
            M = x.m;
    }
    for (int64_t c = 0; c < r->D; c++)
        out->o[c] = 0;
    for (int64_t p = 0; p < parts; p++) {
        partition x = weigh(r, p);
        ts_real g = x.l != 0 ? r->exp(x.m - M) : 0;
        if (x.l != 0)
            L = ts_fma(g, x.l, L);
        if (out->m)
            out->m[p] = x.m;
        if (out->l)
            out->l[p] = x.l;
        join(r, &x, g, out->o, out->acc ? out->acc + p * r->D : NULL);
    }
    finish(r->D, M, L, out);
}

void ts_split_merge(int64_t parts, int64_t D, const ts_real *m, const ts_real *l, const ts_real *acc,
                    const ts_split_out *out)
{
    ts_real M = -(ts_real)INFINITY, L = 0;
    for (int64_t p = 0; p < parts; p++)
        if (l[p] != 0 && m[p] > M)
            M = m[p];
    for (int64_t c = 0; c < D; c++)
        out->o[c] = 0;
    for (int64_t p = 0; p < parts; p++) {
        if (l[p] == 0)
            continue;
        ts_real g = ts_exp(m[p] - M);
        L = ts_fma(g, l[p], L);
        for (int64_t c = 0; c < D; c++)
            out->o[c] = ts_fma(g, acc[p * D + c], out->o[c]);
    }
    finish(D, M, L, out);
}

ts_split_out ts_split_at(const ts_split_out *all, int64_t i, int64_t parts, int64_t D)
{
    ts_split_out x = *all;
    x.o = x.o ? x.o + i * D : NULL;
    x.m = x.m ? x.m + i * parts : NULL;
    x.l = x.l ? x.l + i * parts : NULL;
    x.acc = x.acc ? x.acc + i * parts * D : NULL;
    x.M = x.M ? x.M + i : NULL;
    x.L = x.L ? x.L + i : NULL;
    return x;
}
