/* Reading and addressing the paged KV pool. */
#ifndef TS_OP_KV_H
#define TS_OP_KV_H

#include <stddef.h>

#include "case/args.h"
#include "num/convert.h"

/* Index of channel 0 of (token j, head h); 64-bit throughout, pools are large. */
static inline int64_t ts_kv_index(const ts_kv *kv, int64_t Hkv, int64_t D, int64_t j, int64_t h)
{
    int64_t page = kv->table[j / kv->page];
    return ((page * Hkv + h) * kv->page + j % kv->page) * D;
}

/* Pool element i, widened exactly: of codes without its scale */
static inline ts_real ts_kv_element(const ts_kv *kv, const void *pool, int64_t i)
{
    switch (kv->dtype) {
    case TS_KV_BF16:
        return (ts_real)ts_bf16_to_f32(((const uint16_t *)pool)[i]);
    case TS_KV_F16:
        return (ts_real)ts_f16_to_f32(((const uint16_t *)pool)[i]);
    case TS_KV_E4M3:
        return (ts_real)ts_e4m3_to_f32(((const uint8_t *)pool)[i]);
    case TS_KV_E5M2:
        return (ts_real)ts_e5m2_to_f32(((const uint8_t *)pool)[i]);
    default:
        return ((const ts_real *)pool)[i];
    }
}

/* out[c] = pool element i + c, c < n, all of one row; codes times their scale, one rounding. pool is kv->k or
 * kv->v. */
static inline void ts_kv_read(const ts_kv *kv, const void *pool, int64_t i, int64_t n, ts_real *out)
{
    for (int64_t c = 0; c < n; c++)
        out[c] = ts_kv_element(kv, pool, i + c);
    if (kv->dtype < TS_KV_E4M3)
        return;
    ts_real scale = (ts_real)(pool == kv->v ? kv->v_scale : kv->k_scale)[i / kv->width];
    for (int64_t c = 0; c < n; c++)
        out[c] = out[c] * scale;
}

/* Bytes of a pool element. */
static inline size_t ts_kv_size(int64_t dtype)
{
    return dtype == TS_KV_REAL ? sizeof(ts_real) : dtype < TS_KV_E4M3 ? sizeof(uint16_t) : sizeof(uint8_t);
}

#endif
