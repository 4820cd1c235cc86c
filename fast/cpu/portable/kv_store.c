#include "schedule.h"

#include <string.h>
#include "num/convert.h"

/* To f16, nearest, ties to even. Adding 1/2 leaves multiples of 2^-24, which are f16's subnormals; from 65520 on:
 * infinity. */
static inline uint16_t narrow_f16(float x)
{
    uint32_t u = ts_bits(x), a = u & 0x7fffffff;
    uint32_t small = ts_bits(ts_float(a) + 0.5f) - ts_bits(0.5f);
    uint32_t normal = (a - 0x38000000 + 0xfff + (a >> 13 & 1)) >> 13;
    uint32_t finite = a < 0x38800000 ? small : normal;
    uint32_t special = a > 0x7f800000 ? 0x7e00 | (a >> 13 & 0x1ff) : 0x7c00;
    return (uint16_t)((a < 0x477ff000 ? finite : special) | (u >> 16 & 0x8000));
}

/* To bf16, nearest, ties to even; a NaN keeps its sign and top payload bits and is made quiet. */
static inline uint16_t narrow(float x)
{
    uint32_t u = ts_bits(x);
    uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
    return (uint16_t)(x == x ? rounded : u >> 16 | 0x40);
}

static void store(const ts_kv *kv, void *pool, int64_t at, const float *x, int64_t D)
{
    if (kv->dtype == TS_KV_REAL) {
        memcpy((float *)pool + at, x, (size_t)D * sizeof *x);
        return;
    }
    uint16_t *y = (uint16_t *)pool + at;
    if (kv->dtype == TS_KV_F16)
        for (int64_t i = 0; i < D; i++)
            y[i] = narrow_f16(x[i]);
    else
        for (int64_t i = 0; i < D; i++)
            y[i] = narrow(x[i]);
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

const ts_schedule ts_kv_store_portable = {
    .name = "kv_store.portable",
    .op = TS_OP_KV_STORE,
    .backend = "cpu",
    .shapes = "any",
    .order = "elementwise",
    .profile = "any",
    .exposes = "",
    .accepts = accepts,
    .run = run,
};
