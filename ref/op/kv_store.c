#include "kv.h"
#include "op.h"

static void store(const ts_kv *kv, void *pool, int64_t i, const ts_real *x, int64_t n)
{
    if (kv->dtype == TS_KV_BF16)
        for (int64_t c = 0; c < n; c++)
            ((uint16_t *)pool)[i + c] = ts_f64_to_bf16((double)x[c]);
    else if (kv->dtype == TS_KV_F16)
        for (int64_t c = 0; c < n; c++)
            ((uint16_t *)pool)[i + c] = ts_f64_to_f16((double)x[c]);
    else
        for (int64_t c = 0; c < n; c++)
            ((ts_real *)pool)[i + c] = x[c];
}

/* Rows k_t, v_t become tokens pos + t of the cache; a cache of latent rows has no v. k, v [T,Hkv,D], after norm and
 * RoPE; the page table covers pos + T tokens. Rounded: once, nearest even, if the pool is bf16 or f16 (widening to
 * double first is exact; an f16 overflows to infinity from 65520 on); else copied. */
void ts_kv_store(const ts_kv_store_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t h = 0; h < a->Hkv; h++) {
            int64_t from = (t * a->Hkv + h) * a->D;
            int64_t to = ts_kv_index(&a->kv, a->Hkv, a->D, a->pos + t, h);
            store(&a->kv, a->kv.k, to, a->k + from, a->D);
            if (a->kv.v)
                store(&a->kv, a->kv.v, to, a->v + from, a->D);
        }
}
