/* Reading and addressing the paged KV pool. */
#ifndef TS_OP_KV_H
#define TS_OP_KV_H

#include "case/args.h"
#include "num/convert.h"

/* Index of channel 0 of (token j, head h); 64-bit throughout, pools are large. */
static inline int64_t ts_kv_index(const ts_kv *kv, int64_t Hkv, int64_t D, int64_t j, int64_t h)
{
    int64_t page = kv->table[j / kv->page];
    return ((page * Hkv + h) * kv->page + j % kv->page) * D;
}

/* out[c] = pool element i + c, c < n, widened exactly */
static inline void ts_kv_read(const ts_kv *kv, const void *pool, int64_t i, int64_t n, ts_real *out)
{
    if (kv->bf16)
        for (int64_t c = 0; c < n; c++)
            out[c] = (ts_real)ts_bf16_to_f32(((const uint16_t *)pool)[i + c]);
    else
        for (int64_t c = 0; c < n; c++)
            out[c] = ((const ts_real *)pool)[i + c];
}

#endif
