/* A KV cache of FP8 codes with a scale per token and head: the rule written out
 * again, what is not finite, and attention over it. */
#include "call.h"

enum { TOKENS = 150, H = 2, D = 24, PAGE = 16, PAGES = TOKENS / PAGE + 1, ROWS = PAGES * PAGE * H };

typedef struct {
    int32_t table[PAGES];
    uint8_t k[ROWS * D], v[ROWS * D];
    float k_scale[ROWS], v_scale[ROWS];
    ts_kv kv;
} pool;

static pool *pool_new(ts_kv_dtype dtype)
{
    pool *p = room(1, sizeof *p);
    memset(p->k, 0x7f, sizeof p->k);
    memset(p->v, 0x7f, sizeof p->v);
    for (int i = 0; i < ROWS; i++)
        p->k_scale[i] = p->v_scale[i] = NAN;
    for (int i = 0; i < PAGES; i++)
        p->table[i] = PAGES - 1 - i;
    p->kv = (ts_kv){.dtype = dtype,
                    .page = PAGE,
                    .pages = PAGES,
                    .table = p->table,
                    .k = p->k,
                    .v = p->v,
                    .k_scale = p->k_scale,
                    .v_scale = p->v_scale,
                    .width = D};
    return p;
}

static int row_of(const pool *p, int j, int h)
{
    return (p->table[j / PAGE] * H + h) * PAGE + j % PAGE;
}

static void put(const ts_ref *ref, pool *p, const void *k, const void *v)
{
    ts_kv_store_args a = {TOKENS, H, D, 0, k, v, p->kv};
    ref->op(TS_OP_KV_STORE, &a);
}

static float largest(ts_kv_dtype dtype)
{
    return dtype == TS_KV_E4M3 ? 448 : 57344;
}

static uint8_t narrow(ts_kv_dtype dtype, float x)
{
    return dtype == TS_KV_E4M3 ? ts_f32_to_e4m3(x) : ts_f32_to_e5m2(x);
}

static float widen(ts_kv_dtype dtype, uint8_t c)
{
    return dtype == TS_KV_E4M3 ? ts_e4m3_to_f32(c) : ts_e5m2_to_f32(c);
}

/* Rows of every magnitude: 2^-140 to 2^120. */
static float *rows_of_every_scale(uint32_t stream)
{
    float *x = generated("normal", stream, TOKENS * H * D);
    for (int i = 0; i < TOKENS * H * D; i++)
        x[i] = ldexpf(x[i], i / D % 131 * 2 - 140);
    return x;
}

static void the_rule_in_f32(void **state)
{
    (void)state;
    float *k = rows_of_every_scale(1), *v = rows_of_every_scale(2);
    for (ts_kv_dtype d = TS_KV_E4M3; d <= TS_KV_E5M2; d++) {
        pool *p = pool_new(d);
        put(&ts_ref32, p, k, v);
        for (int i = 0; i < TOKENS * H; i++) {
            int row = row_of(p, i / H, i % H);
            float amax = 0;
            for (int c = 0; c < D; c++)
                amax = fmaxf(amax, fabsf(k[i * D + c]));
            float scale = amax / largest(d);
            scale = scale < 0x1p-126f ? 0x1p-126f : scale;
            assert_true(p->k_scale[row] == scale);
            for (int c = 0; c < D; c++) {
                assert_int_equal(p->k[row * D + c], narrow(d, k[i * D + c] / scale));
                assert_int_equal(p->v[row * D + c], narrow(d, v[i * D + c] / p->v_scale[row]));
            }
        }
        for (int j = TOKENS; j < PAGES * PAGE; j++) /* nobody's */
            assert_true(isnan(p->k_scale[row_of(p, j, 1)]) && p->k[row_of(p, j, 1) * D] == 0x7f);
        free(p);
    }
    free(k);
    free(v);
}

/* Both precisions of the same numbers: the same codes and scales. */
static void precisions_agree(void **state)
{
    (void)state;
    float *k = rows_of_every_scale(3), *v = rows_of_every_scale(4);
    double *k64 = widened(k, TOKENS * H * D), *v64 = widened(v, TOKENS * H * D);
    for (ts_kv_dtype d = TS_KV_E4M3; d <= TS_KV_E5M2; d++) {
        pool *a = pool_new(d), *b = pool_new(d);
        put(&ts_ref32, a, k, v);
        put(&ts_ref64, b, k64, v64);
        assert_memory_equal(a->k, b->k, sizeof a->k);
        assert_memory_equal(a->v, b->v, sizeof a->v);
        for (int j = 0; j < TOKENS * H; j++)
            assert_true(a->k_scale[row_of(a, j / H, j % H)] == b->k_scale[row_of(b, j / H, j % H)]);
        free(a);
        free(b);
    }
    void *all[] = {k, v, k64, v64};
    for (int i = 0; i < 4; i++)
        free(all[i]);
}

/* Row i: amax is 448 s, so the scale is s; x = 1.9375 s and 1.8125 s are exact, and their quotients are ties. A
 * product with 1 / s is an ulp off for some of these s. */
static void ties_are_those_of_the_quotient(void **state)
{
    (void)state;
    float *x = floats(TOKENS * H * D);
    pool *p = pool_new(TS_KV_E4M3);
    for (int i = 0; i < TOKENS * H; i++) {
        float s = 1.75f + (float)(2 * i + 1) * 0x1p-15f;
        x[i * D] = 448 * s;
        x[i * D + 1] = 1.9375f * s;
        x[i * D + 2] = -1.8125f * s;
    }
    put(&ts_ref32, p, x, x);
    for (int i = 0; i < TOKENS * H; i++) {
        const uint8_t *code = p->k + row_of(p, i / H, i % H) * D;
        assert_true(code[0] == 0x7e && code[1] == 0x40 && code[2] == 0xbe);
    }
    free(p);
    free(x);
}

static void what_is_not_finite(void **state)
{
    (void)state;
    float *x = floats(TOKENS * H * D);
    x[0] = NAN; /* row 0: beside 3 */
    x[1] = 3;
    x[D] = INFINITY;  /* row 1 */
    x[2 * D] = -0.0f; /* row 2: zeros */
    pool *p = pool_new(TS_KV_E4M3);
    put(&ts_ref32, p, x, x);
    int nan = row_of(p, 0, 0), inf = row_of(p, 0, 1), zero = row_of(p, 1, 0);
    assert_true(p->k[nan * D] == 0x7f && p->k[nan * D + 1] == 0x7e && p->k_scale[nan] == 3.0f / 448);
    assert_true(isinf(p->k_scale[inf]) && (p->k[inf * D] & 0x7f) == 0x7f && p->k[inf * D + 1] == 0);
    assert_true(p->k_scale[zero] == 0x1p-126f && p->k[zero * D] == 0x80 && p->k[zero * D + 1] == 0);
    free(p);
    free(x);
}

/* Attention over codes is attention over the products code * scale, rounded to f32. */
static void attention_reads_products(void **state)
{
    (void)state;
    enum { T = 3, HQ = 4 };
    static const int32_t pos[T] = {149, 128, 40}, len[T] = {150, 129, 41};
    float *q = generated("normal", 5, T * HQ * D), *k = generated("normal", 6, TOKENS * H * D),
          *v = generated("normal", 7, TOKENS * H * D), *wide_k = floats(ROWS * D), *wide_v = floats(ROWS * D),
          codes[T * HQ * D], wide[T * HQ * D];
    for (ts_kv_dtype d = TS_KV_E4M3; d <= TS_KV_E5M2; d++) {
        pool *p = pool_new(d);
        put(&ts_ref32, p, k, v);
        for (int i = 0; i < ROWS * D; i++) {
            wide_k[i] = widen(d, p->k[i]) * p->k_scale[i / D];
            wide_v[i] = widen(d, p->v[i]) * p->v_scale[i / D];
        }
        ts_attention_args a = {.T = T,
                               .Hq = HQ,
                               .Hkv = H,
                               .D = D,
                               .parts = 2,
                               .scale = 0.2,
                               .q = q,
                               .pos = pos,
                               .len = len,
                               .kv = p->kv,
                               .o = codes};
        ts_ref32.op(TS_OP_ATTENTION, &a);
        a.kv = (ts_kv){.page = PAGE, .pages = PAGES, .table = p->table, .k = wide_k, .v = wide_v};
        a.o = wide;
        ts_ref32.op(TS_OP_ATTENTION, &a);
        same_bits(codes, wide, T * HQ * D);
        assert_true(!isnan(codes[0]));
        free(p);
    }
    void *all[] = {q, k, v, wide_k, wide_v};
    for (int i = 0; i < 5; i++)
        free(all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule_in_f32),
        cmocka_unit_test(precisions_agree),
        cmocka_unit_test(ties_are_those_of_the_quotient),
        cmocka_unit_test(what_is_not_finite),
        cmocka_unit_test(attention_reads_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
