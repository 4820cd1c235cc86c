/* attention_wmma: the definition written out again over whole rows; what rounding the
 * weights does; and independence from pages, from windows without keys and from other rows. */
#include "call.h"

enum { T = 5, HQ = 4, HKV = 2, D = 40, TOKENS = 600, MAX_PAGES = TOKENS };

static const int32_t pos[T] = {599, 512, 255, 256, 9}, len[T] = {600, 513, 256, 257, 0};

typedef struct {
    float *q;
    uint16_t *k, *v; /* [TOKENS,HKV,D] */
    ts_kv_dtype dtype;
} scene;

static uint16_t narrow(ts_kv_dtype dtype, float x)
{
    return dtype == TS_KV_F16 ? ts_f32_to_f16(x) : ts_f32_to_bf16(x);
}

static float widen(ts_kv_dtype dtype, uint16_t h)
{
    return dtype == TS_KV_F16 ? ts_f16_to_f32(h) : ts_bf16_to_f32(h);
}

static scene scene_new(ts_kv_dtype dtype)
{
    scene s = {generated("normal", 1, T * HQ * D), room(TOKENS * HKV * D, 2), room(TOKENS * HKV * D, 2), dtype};
    float *rows = generated("normal", 2, 2 * TOKENS * HKV * D);
    for (int i = 0; i < TOKENS * HKV * D; i++) {
        s.k[i] = narrow(dtype, rows[i]);
        s.v[i] = narrow(dtype, rows[TOKENS * HKV * D + i]);
    }
    free(rows);
    return s;
}

static void scene_free(scene *s)
{
    free(s->q);
    free(s->k);
    free(s->v);
}

/* Rows first .. first+n-1 over pages of `page` tokens in descending order, what no token fills a NaN. */
static void attend(const scene *s, ts_op_id op, int64_t page, int64_t first, int64_t n, int64_t window, float *o)
{
    int32_t table[MAX_PAGES];
    int64_t pages = (TOKENS + page - 1) / page, size = pages * page * HKV * D;
    uint16_t *k = room(size, 2), *v = room(size, 2);
    memset(k, 0xff, (size_t)size * 2);
    memset(v, 0xff, (size_t)size * 2);
    for (int64_t i = 0; i < pages; i++)
        table[i] = (int32_t)(pages - 1 - i);
    for (int64_t i = 0; i < TOKENS * HKV * D; i++) {
        int64_t j = i / (HKV * D), h = i / D % HKV;
        int64_t to = ((table[j / page] * HKV + h) * page + j % page) * D + i % D;
        k[to] = s->k[i];
        v[to] = s->v[i];
    }
    ts_attention_args a = {.T = n, .Hq = HQ, .Hkv = HKV, .D = D, .parts = 5, .window = window, .scale = 0.158};
    a.q = s->q + first * HQ * D;
    a.pos = pos + first;
    a.len = len + first;
    a.kv = (ts_kv){.dtype = s->dtype, .page = page, .pages = pages, .table = table, .k = k, .v = v};
    a.o = o;
    ts_ref32.op(op, &a);
    free(k);
    free(v);
}

static float exp32(float x)
{
    float y;
    ts_map_args a = {1, &x, &y};
    ts_ref32.op(TS_OP_EXP, &a);
    return y;
}

/* Row t, head h: all windows from key 0, those without a visible key multiplied by 1 rather than left out. */
static void plain_row(const scene *s, int t, int h, int window, float *o)
{
    float M = -INFINITY, L = 0, score[256], O[D] = {0};
    for (int w0 = 0; w0 < 768; w0 += 256) {
        float m = M, sum = 0, pv[D] = {0};
        bool seen[256];
        for (int i = 0; i < 256; i++) {
            int j = w0 + i;
            seen[i] = j < len[t] && j <= pos[t] && (window <= 0 || pos[t] - j < window);
            score[i] = 0;
            for (int c = 0; c < D && seen[i]; c++)
                score[i] = fmaf(widen(s->dtype, narrow(s->dtype, s->q[(t * HQ + h) * D + c])),
                                widen(s->dtype, s->k[(j * HKV + h / 2) * D + c]), score[i]);
            score[i] *= 0.158f;
            m = seen[i] ? fmaxf(m, score[i]) : m;
        }
        float alpha = m == -INFINITY ? 1 : exp32(M - m);
        for (int i = 0; i < 256; i++) {
            if (!seen[i])
                continue;
            float p = exp32(score[i] - m);
            sum += p;
            for (int c = 0; c < D; c++)
                pv[c] = fmaf(widen(s->dtype, narrow(s->dtype, p)),
                             widen(s->dtype, s->v[((w0 + i) * HKV + h / 2) * D + c]), pv[c]);
        }
        L = fmaf(L, alpha, sum);
        for (int c = 0; c < D; c++)
            O[c] = fmaf(O[c], alpha, pv[c]);
        M = m;
    }
    for (int c = 0; c < D; c++)
        o[c] = O[c] / (L == 0 ? 1 : L);
}

static void to_the_bit(void **state)
{
    (void)state;
    float o[T * HQ * D], plain[D];
    for (ts_kv_dtype d = TS_KV_BF16; d <= TS_KV_F16; d++)
        for (int window = 0; window <= 300; window += 100) {
            scene s = scene_new(d);
            attend(&s, TS_OP_ATTENTION_WMMA, 16, 0, T, window, o);
            for (int i = 0; i < T * HQ; i++) {
                plain_row(&s, i / HQ, i % HQ, window, plain);
                same_bits(o + i * D, plain, D);
            }
            scene_free(&s);
        }
}

static void bits_of_a_row(void **state)
{
    (void)state;
    static const int64_t page[] = {1, 7, 64, 512};
    float whole[T * HQ * D], other[T * HQ * D];
    scene s = scene_new(TS_KV_BF16);
    attend(&s, TS_OP_ATTENTION_WMMA, 16, 0, T, 0, whole);
    for (int i = 0; i < 4; i++) {
        attend(&s, TS_OP_ATTENTION_WMMA, page[i], 0, T, 0, other);
        same_bits(other, whole, T * HQ * D);
    }
    for (int t = 0; t < T; t++) {
        attend(&s, TS_OP_ATTENTION_WMMA, 16, t, 1, 0, other);
        same_bits(other, whole + t * HQ * D, HQ * D);
    }
    scene_free(&s);
}

/* Not attention's bits, but its values to about the precision of an operand. */
static void apart_from_attention(void **state)
{
    (void)state;
    float narrowed[T * HQ * D], exact[T * HQ * D];
    scene s = scene_new(TS_KV_BF16);
    double worst = 0;
    attend(&s, TS_OP_ATTENTION_WMMA, 16, 0, T, 0, narrowed);
    attend(&s, TS_OP_ATTENTION, 16, 0, T, 0, exact);
    for (int i = 0; i < 4 * HQ * D; i++)
        worst = fmax(worst, fabs((double)narrowed[i] - (double)exact[i]));
    assert_true(worst > 1e-4 && worst < 0x1p-6);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(to_the_bit),
        cmocka_unit_test(bits_of_a_row),
        cmocka_unit_test(apart_from_attention),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
