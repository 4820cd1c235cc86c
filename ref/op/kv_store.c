#include "kv.h"
#include "op.h"

/* One row: scale = max(fl(amax / largest), 2^-126), amax = max |x| without the NaNs; code = x / scale rounded to
 * f32 and then to the code, beyond the largest the largest. In double on the way, so that both precisions of the
 * same f32 numbers agree: a quotient of two f32 rounds from double as it does at once. */
static void encode(const ts_kv *kv, uint8_t *code, float *scale, const ts_real *x)
{
    double amax = 0;
    for (int64_t c = 0; c < kv->width; c++)
        if (fabs((double)x[c]) > amax)
            amax = fabs((double)x[c]);
    float s = (float)(amax / (double)(kv->dtype == TS_KV_E4M3 ? TS_E4M3_MAX : TS_E5M2_MAX));
    *scale = s > 0x1p-126f ? s : 0x1p-126f;
    for (int64_t c = 0; c < kv->width; c++) {
        float quotient = (float)((double)x[c] / (double)*scale);
        code[c] = kv->dtype == TS_KV_E4M3 ? ts_f32_to_e4m3(quotient) : ts_f32_to_e5m2(quotient);
    }
}

static void store(const ts_kv *kv, void *pool, float *scale, int64_t i, const ts_real *x, int64_t n)
{
    if (kv->dtype >= TS_KV_E4M3)
        encode(kv, (uint8_t *)pool + i, scale + i / kv->width, x);
    else if (kv->dtype == TS_KV_BF16)
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
 * double first is exact; an f16 overflows to infinity from 65520 on); FP8: amax / largest, x / scale, the code;
 * else copied. FP8 codec: OCP 8-bit Floating Point Specification 1.0, saturating; the scale is this project's rule.
 */
void ts_kv_store(const ts_kv_store_args *a)
{
    for (int64_t t = 0; t < a->T; t++)
        for (int64_t h = 0; h < a->Hkv; h++) {
            int64_t from = (t * a->Hkv + h) * a->D;
            int64_t to = ts_kv_index(&a->kv, a->Hkv, a->D, a->pos + t, h);
            store(&a->kv, a->kv.k, a->kv.k_scale, to, a->k + from, a->D);
            if (a->kv.v)
                store(&a->kv, a->kv.v, a->kv.v_scale, to, a->v + from, a->D);
        }
}
