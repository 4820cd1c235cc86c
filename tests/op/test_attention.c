/* Split attention over a paged cache: float64 goldens that other software made,
 * and independence from everything the page table hides. */
#include "call.h"

enum { PAGE = 16 };

/* A pool filled through kv_store with rows [T][Hkv][D] of ts_real (float or double by `ref`). */
typedef struct {
    ts_kv kv;
    int32_t *table;
} pool;

/* Every second pool page is free, the used ones are in descending order, everything starts as NaN. */
static pool pool_new(const ts_ref *ref, ts_kv_dtype dtype, int64_t page, int64_t tokens, int64_t Hkv, int64_t D)
{
    int64_t used = (tokens + page - 1) / page, pages = 2 * used + 1, n = pages * Hkv * page * D;
    pool p = {.kv = {.dtype = dtype, .page = page, .pages = pages}};
    size_t size = (dtype != TS_KV_REAL ? 2 : ref->dtype == TS_F64 ? 8 : 4) * (size_t)n;
    p.table = (int32_t *)room(used, sizeof *p.table);
    for (int64_t i = 0; i < used; i++)
        p.table[i] = (int32_t)(pages - 2 - 2 * i);
    p.kv.table = p.table;
    p.kv.k = room((int64_t)size, 1);
    p.kv.v = room((int64_t)size, 1);
    memset(p.kv.k, 0xff, size); /* NaN in every dtype */
    memset(p.kv.v, 0xff, size);
    return p;
}

static void pool_free(pool *p)
{
    free(p->table);
    free(p->kv.k);
    free(p->kv.v);
}

/* Stores tokens pos .. pos+T-1 of k, v [..][Hkv][D] (ts_real of `ref`). */
static void put(const ts_ref *ref, pool *p, const void *k, const void *v, int64_t pos, int64_t T, int64_t Hkv,
                int64_t D)
{
    size_t row = (size_t)(Hkv * D * pos) * (ref->dtype == TS_F64 ? 8 : 4);
    const void *from_k = (const char *)k + row, *from_v = (const char *)v + row;
    ts_kv_store_args a = {T, Hkv, D, pos, from_k, from_v, p->kv};
    ref->op(TS_OP_KV_STORE, &a);
}

/* [Hkv][tokens][D] -> [tokens][Hkv][D] */
static double *by_token(const ts_safetensors *f, const char *prefix, const char *name)
{
    const ts_tensor *t = golden_tensor(f, prefix, name);
    assert_non_null(t);
    int64_t H = t->dim[0], n = t->dim[1], D = t->dim[2];
    double *y = doubles(H * n * D);
    for (int64_t h = 0; h < H; h++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t c = 0; c < D; c++)
                y[(j * H + h) * D + c] = ts_tensor_get(t, (h * n + j) * D + c);
    return y;
}

static int32_t *golden_i32(const ts_safetensors *f, const char *prefix, const char *name)
{
    const ts_tensor *t = golden_tensor(f, prefix, name);
    assert_non_null(t);
    int32_t *y = (int32_t *)room(t->dim[0], sizeof *y);
    for (int64_t i = 0; i < t->dim[0]; i++)
        y[i] = (int32_t)ts_tensor_get(t, i);
    return y;
}

static double compare(const ts_safetensors *f, const char *name, const char *part, double *x, int64_t n)
{
    double *golden = golden_f64(f, name, part);
    double d = distance(x, golden, n);
    free(golden);
    free(x);
    return d;
}

/* out, m, l and acc of one golden case in ref64, K and V stored as bf16 or as double. */
static double golden_case(const ts_safetensors *f, const char *name, const char *kv, int64_t window,
                          ts_kv_dtype dtype)
{
    const ts_tensor *q = golden_tensor(f, name, "q"), *acc = golden_tensor(f, name, "acc");
    const ts_tensor *keys = golden_tensor(f, kv, "k");
    int64_t T = q->dim[0], Hq = q->dim[1], D = q->dim[2], parts = acc->dim[2];
    int64_t Hkv = keys->dim[0], tokens = keys->dim[1], n = T * Hq * parts;
    double *q64 = golden_f64(f, name, "q"), *k = by_token(f, kv, "k"), *v = by_token(f, kv, "v");
    double *o = doubles(T * Hq * D), *m = doubles(n), *l = doubles(n), *inner = doubles(n * D);
    int32_t *pos = golden_i32(f, name, "t"), *len = golden_i32(f, name, "len");
    pool p = pool_new(&ts_ref64, dtype, PAGE, tokens, Hkv, D);
    int32_t most = 0;
    for (int64_t t = 0; t < T; t++)
        most = len[t] > most ? len[t] : most;
    put(&ts_ref64, &p, k, v, 0, most, Hkv, D); /* keys past the longest row stay NaN */
    ts_attention_args a = {T,           Hq,  Hkv, D,    parts,     window,    0,         1 / sqrt((double)D),
                           ts_f64(q64), pos, len, p.kv, ts_f64(o), ts_f64(m), ts_f64(l), ts_f64(inner),
                           NULL,        NULL};
    ts_ref64.op(TS_OP_ATTENTION, &a);
    double d = fmax(fmax(compare(f, name, "out", o, T * Hq * D), compare(f, name, "m", m, n)),
                    fmax(compare(f, name, "l", l, n), compare(f, name, "acc", inner, n * D)));
    pool_free(&p);
    void *all[] = {q64, k, v, pos, len};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    return d;
}

static void outside_goldens(void **state)
{
    (void)state;
    static const struct {
        const char *name, *kv;
        int64_t window;
    } cases[] = {
        {"len1", "kv.d64", 0},       {"len127", "kv.d64", 0},        {"len128", "kv.d64", 0},
        {"len129", "kv.d64", 0},     {"len1041", "kv.d64", 0},       {"len1041_cap2048", "kv.d64", 0},
        {"big_logits", "kv.d64", 0}, {"causal_inside", "kv.d64", 0}, {"gqa24_4_d256", "kv.d256", 0},
        {"masked", "kv.d64", 100},   {"slide1", "kv.d64", 1},        {"slide128_edge", "kv.d64", 128},
        {"slide200", "kv.d64", 200}, {"verify4", "kv.d64", 0},
    };
    ts_safetensors *f = golden_open("golden/external/attention-split.safetensors");
    double worst = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int d = TS_KV_REAL; d <= TS_KV_BF16; d++)
            worst = fmax(worst, golden_case(f, cases[i].name, cases[i].kv, cases[i].window, (ts_kv_dtype)d));
    print_message("%zu goldens, KV as bf16 and as double: within %.2g\n", sizeof cases / sizeof *cases, worst);
    assert_true(worst <= 1e-12);
    ts_safetensors_close(f);
}

/* A scene in ref32: 300 tokens, 4 query heads on 2 kv heads, D = 40 (not a multiple of 32). */
enum { TOKENS = 300, HQ = 4, HKV = 2, D = 40, ROWS = 5 };
typedef struct {
    float *k, *v, *q;
    int32_t pos[ROWS], len[ROWS];
} scene;

static scene scene_new(void)
{
    scene s = {generated("normal", 1, TOKENS * HKV * D),
               generated("normal", 2, TOKENS * HKV * D),
               generated("normal", 3, ROWS * HQ * D),
               {299, 127, 128, 0, 9},
               {300, 300, 290, 1, 0}};
    return s;
}

static void scene_free(scene *s)
{
    free(s->k);
    free(s->v);
    free(s->q);
}

/* Row `first` .. first+T-1 of the scene into o, KV bf16 in pages of `page`. */
static void attend(const scene *s, int64_t page, int64_t first, int64_t T, int64_t parts, int64_t window, float *o)
{
    pool p = pool_new(&ts_ref32, TS_KV_BF16, page, TOKENS, HKV, D);
    put(&ts_ref32, &p, s->k, s->v, 0, 100, HKV, D);
    put(&ts_ref32, &p, s->k, s->v, 100, TOKENS - 100, HKV, D);
    ts_attention_args a = {.T = T, .Hq = HQ, .Hkv = HKV, .D = D, .parts = parts, .window = window, .scale = 0.158};
    a.q = s->q + first * HQ * D;
    a.pos = s->pos + first;
    a.len = s->len + first;
    a.kv = p.kv;
    a.o = o;
    ts_ref32.op(TS_OP_ATTENTION, &a);
    pool_free(&p);
}

static void bits_of_a_row(void **state)
{
    (void)state;
    scene s = scene_new();
    float whole[ROWS * HQ * D], other[ROWS * HQ * D];
    for (int64_t window = 0; window <= 150; window += 150) {
        attend(&s, PAGE, 0, ROWS, 3, window, whole);
        const int64_t page[] = {1, 7, 64, 512};
        for (size_t i = 0; i < sizeof page / sizeof *page; i++) {
            attend(&s, page[i], 0, ROWS, 3, window, other);
            same_bits(other, whole, ROWS * HQ * D);
        }
        attend(&s, PAGE, 0, ROWS, 9, window, other); /* more partitions than keys */
        same_bits(other, whole, ROWS * HQ * D);
        for (int64_t t = 0; t < ROWS; t++) { /* one row alone */
            attend(&s, PAGE, t, 1, 3, window, other);
            same_bits(other, whole + t * HQ * D, HQ * D);
        }
        for (int64_t i = 4 * HQ * D; i < ROWS * HQ * D; i++) /* len 0: no key at all */
            assert_int_equal(ts_bits(whole[i]), 0);
    }
    scene_free(&s);
}

/* dot32 of two vectors through the table */
static float dot32(const float *a, const float *b, int64_t n)
{
    float y;
    ts_matrix w = {.format = TS_W_F32, .N = 1, .K = n, .data = b};
    ts_matmul_args m = {1, 1, n, a, &w, &y};
    ts_ref32.op(TS_OP_MATMUL_DOT32, &m);
    return y;
}

static float exp32(float x)
{
    float y;
    ts_map_args a = {1, &x, &y};
    ts_ref32.op(TS_OP_EXP, &a);
    return y;
}

/* Row 0 of the scene written out again: records of all partitions kept, then merged. */
static void plain_row(const scene *s, int64_t h, float *out)
{
    float m[3], l[3], acc[3][D], M = -INFINITY, L = 0;
    for (int p = 0; p < 3; p++) {
        float w[128];
        int n = p < 2 ? 128 : TOKENS - 256;
        m[p] = -INFINITY;
        l[p] = 0;
        memset(acc[p], 0, sizeof acc[p]);
        for (int i = 0; i < n; i++) {
            float k[D];
            for (int c = 0; c < D; c++)
                k[c] = ts_bf16_to_f32(ts_f32_to_bf16(s->k[((128 * p + i) * HKV + h / 2) * D + c]));
            w[i] = dot32(s->q + h * D, k, D) * 0.158f;
            m[p] = fmaxf(m[p], w[i]);
        }
        for (int i = 0; i < n; i++) {
            const float *v = s->v + ((128 * p + i) * HKV + h / 2) * D, e = exp32(w[i] - m[p]);
            l[p] += e;
            for (int c = 0; c < D; c++)
                acc[p][c] = fmaf(e, ts_bf16_to_f32(ts_f32_to_bf16(v[c])), acc[p][c]);
        }
        M = fmaxf(M, m[p]);
    }
    memset(out, 0, D * sizeof *out);
    for (int p = 0; p < 3; p++) {
        float g = exp32(m[p] - M);
        L = fmaf(g, l[p], L);
        for (int c = 0; c < D; c++)
            out[c] = fmaf(g, acc[p][c], out[c]);
    }
    for (int c = 0; c < D; c++)
        out[c] /= L;
}

static void ref32_to_the_bit(void **state)
{
    (void)state;
    scene s = scene_new();
    float o[HQ * D], plain[D];
    attend(&s, PAGE, 0, 1, 3, 0, o);
    for (int64_t h = 0; h < HQ; h++) {
        plain_row(&s, h, plain);
        same_bits(o + h * D, plain, D);
    }
    scene_free(&s);
}

/* One rounding, to nearest even; a double is not rounded to float on the way. */
static void store_rounds_once(void **state)
{
    (void)state;
    const float x[4] = {0x1.01p0f, 0x1.03p0f, NAN, 0x1p-149f};
    const double y[4] = {0x1.01p0 + 0x1p-40, 0x1.03p0, (double)NAN, 0x1p-149};
    const uint16_t want32[4] = {0x3f80, 0x3f82, 0, 0}, want64[4] = {0x3f81, 0x3f82, 0, 0};
    pool a = pool_new(&ts_ref32, TS_KV_BF16, PAGE, 20, 1, 4), b = pool_new(&ts_ref64, TS_KV_BF16, PAGE, 20, 1, 4);
    ts_kv_store_args to32 = {1, 1, 4, 17, x, x, a.kv}, to64 = {1, 1, 4, 17, ts_f64(y), ts_f64(y), b.kv};
    ts_ref32.op(TS_OP_KV_STORE, &to32);
    ts_ref64.op(TS_OP_KV_STORE, &to64);
    int64_t at = ((int64_t)a.table[1] * PAGE + 1) * 4;
    for (int c = 0; c < 4; c++) {
        uint16_t got32 = ((uint16_t *)a.kv.k)[at + c], got64 = ((uint16_t *)b.kv.v)[at + c];
        if (c == 2)
            assert_true(isnan(ts_bf16_to_f32(got32)) && isnan(ts_bf16_to_f32(got64)));
        else
            assert_true(got32 == want32[c] && got64 == want64[c]);
    }
    assert_int_equal(((uint16_t *)a.kv.k)[at - 1], 0xffff); /* the neighbour is untouched */
    pool_free(&a);
    pool_free(&b);
}

/* The same for f16, whose range ends: 65520 is half way to 2^16, 2^-25 half way to the smallest subnormal. */
static void store_f16(void **state)
{
    (void)state;
    enum { CH = 10 };
    const float x[CH] = {0x1.002p0f, 0x1.006p0f, 65519.996f, 65520, -65520,
                         1e30f,      0x1p-25f,   0x1.8p-24f, -0.0f, NAN};
    const double y[CH] = {0x1.002p0 + 0x1p-40, 0x1.006p0, 65520 - 0x1p-30, 65520, -65520, 1e300, 0x1p-25 + 0x1p-70,
                          -0x1p-25 - 0x1p-70,  -0.0,      (double)NAN};
    const uint16_t want32[CH] = {0x3c00, 0x3c02, 0x7bff, 0x7c00, 0xfc00, 0x7c00, 0, 2, 0x8000};
    const uint16_t want64[CH] = {0x3c01, 0x3c02, 0x7bff, 0x7c00, 0xfc00, 0x7c00, 1, 0x8001, 0x8000};
    pool a = pool_new(&ts_ref32, TS_KV_F16, PAGE, 20, 1, CH), b = pool_new(&ts_ref64, TS_KV_F16, PAGE, 20, 1, CH);
    put(&ts_ref32, &a, x, x, 0, 1, 1, CH);
    put(&ts_ref64, &b, y, y, 0, 1, 1, CH);
    const uint16_t *got32 = (uint16_t *)a.kv.k + (int64_t)a.table[0] * PAGE * CH;
    const uint16_t *got64 = (uint16_t *)b.kv.v + (int64_t)b.table[0] * PAGE * CH;
    assert_memory_equal(got32, want32, (CH - 1) * sizeof *want32);
    assert_memory_equal(got64, want64, (CH - 1) * sizeof *want64);
    assert_true(isnan(ts_f16_to_f32(got32[CH - 1])) && isnan(ts_f16_to_f32(got64[CH - 1])));
    pool_free(&a);
    pool_free(&b);
}

/* One key: its weight is 1, and o is the stored value, widened. */
static void attention_reads_f16(void **state)
{
    (void)state;
    enum { CH = 7 };
    const float x[CH] = {1, 0x1.002p0f, -65504, 0x1p-24f, -0x1.ffcp-15f, 0x1p-26f, 0.1f};
    const float want[CH] = {1, 1, -65504, 0x1p-24f, -0x1p-14f, 0, 0x1.998p-4f};
    const float q[CH] = {0};
    const int32_t pos = 0, len = 1;
    float o[CH];
    pool p = pool_new(&ts_ref32, TS_KV_F16, PAGE, 20, 1, CH);
    put(&ts_ref32, &p, x, x, 0, 1, 1, CH);
    ts_attention_args a = {
        .T = 1, .Hq = 1, .Hkv = 1, .D = CH, .parts = 1, .scale = 1, .q = q, .pos = &pos, .len = &len, .o = o};
    a.kv = p.kv;
    ts_ref32.op(TS_OP_ATTENTION, &a);
    for (int c = 0; c < CH; c++)
        assert_true(o[c] == want[c]);
    pool_free(&p);
}

/* Token j, head h, channel c lie where case/args.h says, in k and in v, and nothing else is written. */
static void layout(void **state)
{
    (void)state;
    enum { POS = 13, N = 9, H = 3, CH = 5, SMALL = 4 };
    float *k = generated("index", 1, N * H * CH), *v = generated("normal", 2, N * H * CH);
    pool p = pool_new(&ts_ref32, TS_KV_REAL, SMALL, POS + N, H, CH);
    ts_kv_store_args a = {N, H, CH, POS, k, v, p.kv};
    ts_ref32.op(TS_OP_KV_STORE, &a);
    for (int i = 0; i < N * H * CH; i++) {
        int j = POS + i / (H * CH), h = i / CH % H,
            at = ((p.table[j / SMALL] * H + h) * SMALL + j % SMALL) * CH + i % CH;
        assert_true(((float *)p.kv.k)[at] == k[i] && ((float *)p.kv.v)[at] == v[i]);
    }
    int64_t written = 0;
    for (int64_t i = 0; i < p.kv.pages * H * SMALL * CH; i++)
        written += !isnan(((float *)p.kv.k)[i]);
    assert_int_equal(written, N * H * CH);
    pool_free(&p);
    free(k);
    free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outside_goldens),  cmocka_unit_test(bits_of_a_row),
        cmocka_unit_test(ref32_to_the_bit), cmocka_unit_test(store_rounds_once),
        cmocka_unit_test(store_f16),        cmocka_unit_test(attention_reads_f16),
        cmocka_unit_test(layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
