/* The body of kv_store.c of every isa, whose header comes first. */
#include <string.h>

static void store(const ts_kv *kv, void *pool, int64_t at, const float *x, int64_t D)
{
    uint16_t *y = (uint16_t *)pool + at;
    if (kv->dtype == TS_KV_REAL)
        memcpy((float *)pool + at, x, (size_t)D * sizeof *x);
    else if (kv->dtype == TS_KV_F16)
        for (int64_t i = 0; i < D; i += VEC)
            v_store_some_f16(y + i, v_first(D - i), v_load_some(x + i, v_first(D - i)));
    else
        for (int64_t i = 0; i < D; i += VEC)
            v_store_some_bf16(y + i, v_first(D - i), v_load_some(x + i, v_first(D - i)));
}

static void run(const void *args, int64_t begin, int64_t end)
{
    const ts_kv_store_args *a = args;
    for (int64_t u = begin; u < end; u++) {
        int64_t j = a->pos + u / a->Hkv, page = a->kv.table[j / a->kv.page];
        int64_t at = ((page * a->Hkv + u % a->Hkv) * a->kv.page + j % a->kv.page) * a->D;
        store(&a->kv, a->kv.k, at, a->k + u * a->D, a->D);
        store(&a->kv, a->kv.v, at, a->v + u * a->D, a->D);
    }
}

static bool accepts(const void *args)
{
    return ((const ts_kv_store_args *)args)->kv.dtype <= TS_KV_F16;
}
