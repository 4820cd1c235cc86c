#include "mla.h"
#include "op.h"

/* ql_r = sum_i q_i w_ir over the Dn key rows of head h: chains over i, ascending, from +0 */
static void absorb(const ts_mla_args *a, int64_t t, int64_t h)
{
    const ts_real *q = a->q + (t * a->H + h) * (a->Dn + a->Dr);
    ts_real *ql = a->ql + (t * a->H + h) * a->R, w[TS_LANES];
    for (int64_t r = 0; r < a->R; r += TS_LANES) {
        int64_t n = ts_piece(a->R - r, TS_LANES);
        for (int64_t c = 0; c < n; c++)
            ql[r + c] = 0;
        for (int64_t i = 0; i < a->Dn; i++) {
            ts_weight_run(a->w, h * (a->Dn + a->Dv) + i, r, n, w);
            for (int64_t c = 0; c < n; c++)
                ql[r + c] = ts_fma(q[i], w[c], ql[r + c]);
        }
    }
}

/* s = ([ql | q_rope] . [latent_j | kr_j]) scale, one dot32 over the R + Dr channels of the cached row */
static ts_real score(const void *args, int64_t t, int64_t h, int64_t j)
{
    const ts_mla_args *a = args;
    const ts_real *ql = a->ql + (t * a->H + h) * a->R;
    const ts_real *qr = a->q + (t * a->H + h) * (a->Dn + a->Dr) + a->Dn;
    ts_real lane[TS_LANES] = {0}, q[TS_LANES], k[TS_LANES];
    for (int64_t c = 0; c < a->R + a->Dr; c += TS_LANES) {
        int64_t n = ts_piece(a->R + a->Dr - c, TS_LANES);
        for (int64_t i = 0; i < n; i++)
            q[i] = c + i < a->R ? ql[c + i] : qr[c + i - a->R];
        ts_kv_read(&a->kv, a->kv.k, ts_mla_row(a, j) + c, n, k);
        ts_lanes_fma(lane, q, k, n);
    }
    return ts_lanes_sum(lane) * (ts_real)a->scale;
}

/* the latent itself */
static void value(const void *args, int64_t h, int64_t j, int64_t c0, int64_t n, ts_real *v)
{
    const ts_mla_args *a = args;
    (void)h;
    ts_kv_read(&a->kv, a->kv.k, ts_mla_row(a, j) + c0, n, v);
}

/* o_c = ol . w row Dn + c of head h, in order dot32 */
static void project(const ts_mla_args *a, int64_t t, int64_t h)
{
    const ts_real *ol = a->ol + (t * a->H + h) * a->R;
    for (int64_t c = 0; c < a->Dv; c++) {
        ts_real lane[TS_LANES] = {0}, w[TS_LANES];
        for (int64_t r = 0; r < a->R; r += TS_LANES) {
            int64_t n = ts_piece(a->R - r, TS_LANES);
            ts_weight_run(a->w, h * (a->Dn + a->Dv) + a->Dn + c, r, n, w);
            ts_lanes_fma(lane, ol + r, w, n);
        }
        a->o[(t * a->H + h) * a->Dv + c] = ts_lanes_sum(lane);
    }
}

/* mla_attention with W_k moved to the query and W_v behind the softmax (DeepSeek-V2, arXiv 2405.04434, 2.1.2): the
 * same mathematics in other roundings, one cached row a key for all heads,
 *
 *   ql = W_k^T q_nope,  s_j = ([ql | q_rope] . [latent_j | kr_j]) scale,  ol = softmax(s) latent,  o = W_v ol.
 *
 * As in mla_attention; outputs too: ql, ol [T,H,R], the query and the result in latent space; inner acc
 * [T,H,parts,R]. Rounded: every fma of ql; then as in attention over R + Dr channels; o as a dot32 of widened
 * weights. */
void ts_mla_absorbed(const ts_mla_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t h = 0; h < a->H; h++) {
            ts_split_row r = {.args = a, .t = t, .h = h, .D = a->R, .exp = ts_exp, .score = score, .value = value};
            absorb(a, t, h);
            ts_mla_attend(a, &r, a->ol);
            project(a, t, h);
        }
}
