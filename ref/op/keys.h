/* One query row over the paged cache: what the orders of attention that keep nothing of the context's length share.
 */
#ifndef TS_OP_KEYS_H
#define TS_OP_KEYS_H

#include "kv.h"
#include "lanes.h"
#include "op.h"
#include "seen.h"

/* Row (t, h): its query and output, the keys lo .. hi-1 that it sees, and their head. */
typedef struct {
    const ts_real *q;
    ts_real *o;
    int64_t lo, hi, kh;
} ts_keys;

/* o starts at +0 */
static inline ts_keys ts_keys_of(const ts_attention_args *a, int64_t t, int64_t h)
{
    const int64_t row = (t * a->Hq + h) * a->D;
    const ts_seen seen = ts_seen_from(a->pos[t], a->len[t], a->window, a->both);
    ts_keys x = {.q = a->q + row, .o = a->o + row, .lo = seen.lo, .hi = seen.hi, .kh = h / (a->Hq / a->Hkv)};
    for (int64_t c = 0; c < a->D; c++)
        x.o[c] = 0;
    return x;
}

/* q . k_j in order dot32 over the stored key widened; `narrow` (or NULL) goes over q first */
static inline ts_real ts_keys_dot(const ts_attention_args *a, const ts_keys *x, int64_t j,
                                  ts_real (*narrow)(ts_real))
{
    ts_real lane[TS_LANES] = {0}, k[TS_LANES], q[TS_LANES];
    int64_t at = ts_kv_index(&a->kv, a->Hkv, a->D, j, x->kh);
    for (int64_t c = 0; c < a->D; c += TS_LANES) {
        int64_t n = ts_piece(a->D - c, TS_LANES);
        ts_kv_read(&a->kv, a->kv.k, at + c, n, k);
        for (int64_t i = 0; i < n; i++)
            q[i] = narrow ? narrow(x->q[c + i]) : x->q[c + i];
        ts_lanes_fma(lane, q, k, n);
    }
    return ts_lanes_sum(lane);
}

/* o = o + w v_j, one fma a channel; `narrow` (or NULL) goes over the result */
static inline void ts_keys_gather(const ts_attention_args *a, const ts_keys *x, ts_real w, int64_t j,
                                  ts_real (*narrow)(ts_real))
{
    ts_real v[TS_LANES];
    int64_t at = ts_kv_index(&a->kv, a->Hkv, a->D, j, x->kh);
    for (int64_t c = 0; c < a->D; c += TS_LANES) {
        int64_t n = ts_piece(a->D - c, TS_LANES);
        ts_kv_read(&a->kv, a->kv.v, at + c, n, v);
        for (int64_t i = 0; i < n; i++) {
            ts_real y = ts_fma(v[i], w, x->o[c + i]);
            x->o[c + i] = narrow ? narrow(y) : y;
        }
    }
}

#endif
