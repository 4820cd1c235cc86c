#include "kv.h"
#include "lse.h"
#include "split128.h"

/* s = (q . k_j) scale: lane l takes channels l, l+32, ..., the butterfly has masks 16, 8, 4, 2, 1 */
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
    return ts_lse_fold(lane) * (ts_real)a->scale;
}

static void value(const void *args, int64_t h, int64_t j, int64_t c0, int64_t n, ts_real *v)
{
    const ts_attention_args *a = args;
    ts_kv_read(&a->kv, a->kv.v, ts_kv_index(&a->kv, a->Hkv, a->D, j, h / (a->Hq / a->Hkv)) + c0, n, v);
}

/* attention as LSE's split kernels order it: split128 with another order of the dot, and the nearest f32 of exp.
 * All else as in attention. */
void ts_attention_lse(const ts_attention_args *a)
{
    const ts_split_out all = {.o = a->o};
    for (int64_t i = 0; i < a->T * a->Hq; i++) {
        ts_split_row r = {.args = a,
                          .t = i / a->Hq,
                          .h = i % a->Hq,
                          .D = a->D,
                          .exp = ts_lse_exp,
                          .score = score,
                          .value = value};
        ts_split_out out = ts_split_at(&all, i, a->parts, a->D);
        r.seen = ts_seen_from(a->pos[r.t], a->len[r.t], a->window, a->both);
        ts_split_attend(&r, a->parts, &out);
    }
}
