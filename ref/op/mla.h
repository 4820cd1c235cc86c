/* What both forms of latent attention share: the cached row, and its softmax. */
#ifndef TS_OP_MLA_H
#define TS_OP_MLA_H

#include "kv.h"
#include "lanes.h"
#include "split128.h"
#include "weight.h"

/* Pool index of token j's row [latent R | kr Dr]. */
static inline int64_t ts_mla_row(const ts_mla_args *a, int64_t j)
{
    return ts_kv_index(&a->kv, 1, a->R + a->Dr, j, 0);
}

/* latent_j . row n of w, in order dot32 */
static inline ts_real ts_mla_expand(const ts_mla_args *a, int64_t j, int64_t n)
{
    ts_real lane[TS_LANES] = {0}, latent[TS_LANES], w[TS_LANES];
    for (int64_t r = 0; r < a->R; r += TS_LANES) {
        int64_t piece = ts_piece(a->R - r, TS_LANES);
        ts_kv_read(&a->kv, a->kv.k, ts_mla_row(a, j) + r, piece, latent);
        ts_weight_run(a->w, n, r, piece, w);
        ts_lanes_fma(lane, latent, w, piece);
    }
    return ts_lanes_sum(lane);
}

/* Row r->t, head r->h into out [T,H,r->D]. */
static inline void ts_mla_attend(const ts_mla_args *a, ts_split_row *r, ts_real *out)
{
    const ts_split_out all = {.o = out, .m = a->m, .l = a->l, .acc = a->acc};
    ts_split_out row = ts_split_at(&all, r->t * a->H + r->h, a->parts, r->D);
    r->seen = ts_seen_from(a->pos[r->t], a->len[r->t], 0, false);
    ts_split_attend(r, a->parts, &row);
}

#endif
