/* Latent attention: a float64 golden that other software made, its two forms
 * against each other, and each against the operations it is made of. */
#include "call.h"

enum { T = 6, H = 3, DN = 12, DR = 8, DV = 16, R = 40, D = DN + DR, ROW = R + DR, LEN = 300, PAGE = 16 };

static const int32_t rows_pos[T] = {299, 298, 256, 128, 127, 5}, rows_len[T] = {300, 300, 257, 128, 128, 0};

/* Everything but the arrays of double. */
typedef struct {
    int32_t table[LEN / PAGE + 1];
    float *q, *rows;
    uint16_t *w;
    ts_matrix matrix;
} scene;

static scene scene_new(void)
{
    scene s = {.q = generated("normal", 1, T * H * D), .rows = generated("normal", 2, LEN * ROW)};
    float *w = generated("normal:0.15", 3, H * (DN + DV) * R);
    s.w = (uint16_t *)room(H * (DN + DV) * R, sizeof *s.w);
    for (int i = 0; i < H * (DN + DV) * R; i++)
        s.w[i] = ts_f32_to_bf16(w[i]);
    for (int i = 0; i <= LEN / PAGE; i++)
        s.table[i] = LEN / PAGE - i;
    free(w);
    s.matrix = (ts_matrix){.format = TS_W_BF16, .N = H * (DN + DV), .K = R, .data = s.w};
    return s;
}

static void scene_free(scene *s)
{
    free(s->q);
    free(s->rows);
    free(s->w);
}

/* A pool of rows of ROW channels without values, filled by kv_store. */
static ts_kv filled(const ts_ref *ref, const scene *s, const void *rows, ts_kv_dtype dtype)
{
    int64_t pages = LEN / PAGE + 1;
    ts_kv kv = {.dtype = dtype,
                .page = PAGE,
                .pages = pages,
                .table = s->table,
                .k = room(pages * PAGE * ROW, sizeof(double))};
    memset(kv.k, 0xff, (size_t)(pages * PAGE * ROW) * sizeof(double));
    ts_kv_store_args a = {LEN, 1, ROW, 0, rows, NULL, kv};
    ref->op(TS_OP_KV_STORE, &a);
    return kv;
}

static ts_mla_args arguments(const scene *s, ts_kv kv)
{
    return (ts_mla_args){.T = T,
                         .H = H,
                         .Dn = DN,
                         .Dr = DR,
                         .Dv = DV,
                         .R = R,
                         .parts = 3,
                         .scale = 0.22,
                         .pos = rows_pos,
                         .len = rows_len,
                         .kv = kv,
                         .w = &s->matrix};
}

static void run64(ts_op_id id, const scene *s, ts_kv_dtype dtype, double *o)
{
    double *q = widened(s->q, T * H * D), *rows = widened(s->rows, LEN * ROW), *ql = doubles(T * H * R),
           *ol = doubles(T * H * R);
    ts_mla_args a = arguments(s, filled(&ts_ref64, s, rows, dtype));
    a.q = ts_f64(q);
    a.o = ts_f64(o);
    a.ql = ts_f64(ql);
    a.ol = ts_f64(ol);
    ts_ref64.op(id, &a);
    void *all[] = {q, rows, ql, ol, a.kv.k};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void forms_agree(void **state)
{
    (void)state;
    scene s = scene_new();
    double o[T * H * DV], absorbed[T * H * DV];
    for (int dtype = TS_KV_REAL; dtype <= TS_KV_F16; dtype++) {
        run64(TS_OP_MLA_ATTENTION, &s, (ts_kv_dtype)dtype, o);
        run64(TS_OP_MLA_ABSORBED, &s, (ts_kv_dtype)dtype, absorbed);
        assert_true(distance(absorbed, o, T * H * DV) < 1e-13);
        for (int i = 5 * H * DV; i < T * H * DV; i++) /* len 0 */
            assert_true(o[i] == 0 && absorbed[i] == 0);
        assert_true(fabs(o[0]) > 1e-3);
    }
    scene_free(&s);
}

/* The same f32 rows as keys and values of Hkv heads of `width` channels: attention's o [T,H,width]. */
static void attend(const float *q, const float *k, const float *v, int64_t Hkv, int64_t width, float *o)
{
    int32_t table[1] = {0};
    ts_kv kv = {
        .page = LEN, .pages = 1, .table = table, .k = floats(LEN * Hkv * width), .v = floats(LEN * Hkv * width)};
    ts_kv_store_args put = {LEN, Hkv, width, 0, k, v, kv};
    ts_ref32.op(TS_OP_KV_STORE, &put);
    ts_attention_args a = {.T = T, .Hq = H, .Hkv = Hkv, .D = width, .parts = 3, .scale = 0.22, .q = q};
    a.pos = rows_pos;
    a.len = rows_len;
    a.kv = kv;
    a.o = o;
    ts_ref32.op(TS_OP_ATTENTION, &a);
    free(kv.k);
    free(kv.v);
}

/* Keys and values made by matmul_dot32, then attention; values padded with zeros to the width of a key. */
static void expanded_is_linear_and_attention(void **state)
{
    (void)state;
    scene s = scene_new();
    float *latent = floats(LEN * R), *kv = floats(LEN * H * (DN + DV)), *k = floats(LEN * H * D),
          *v = floats(LEN * H * D), o[T * H * DV], padded[T * H * D];
    for (int j = 0; j < LEN; j++)
        memcpy(latent + j * R, s.rows + j * ROW, R * sizeof *latent);
    ts_matmul_args expand = {LEN, H * (DN + DV), R, latent, &s.matrix, kv};
    ts_ref32.op(TS_OP_MATMUL_DOT32, &expand);
    for (int i = 0; i < LEN * H; i++) {
        memcpy(k + i * D, kv + i * (DN + DV), DN * sizeof *k);
        memcpy(k + i * D + DN, s.rows + i / H * ROW + R, DR * sizeof *k);
        memcpy(v + i * D, kv + i * (DN + DV) + DN, DV * sizeof *v);
    }
    attend(s.q, k, v, H, D, padded);
    ts_mla_args a = arguments(&s, filled(&ts_ref32, &s, s.rows, TS_KV_REAL));
    a.q = s.q;
    a.o = o;
    ts_ref32.op(TS_OP_MLA_ATTENTION, &a);
    for (int i = 0; i < T * H; i++)
        same_bits(o + i * DV, padded + i * D, DV);
    void *all[] = {latent, kv, k, v, a.kv.k};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    scene_free(&s);
}

/* The absorbed query written out; attention of all heads over the rows as one kv head; matmul_dot32. */
static void absorbed_is_chain_attention_and_linear(void **state)
{
    (void)state;
    scene s = scene_new();
    float q[T * H * ROW], whole[T * H * ROW], o[T * H * DV], ql[T * H * R], ol[T * H * R], y[DV];
    for (int i = 0; i < T * H; i++) {
        for (int r = 0; r < R; r++) {
            float x = 0;
            for (int n = 0; n < DN; n++)
                x = fmaf(s.q[i * D + n], ts_bf16_to_f32(s.w[(i % H * (DN + DV) + n) * R + r]), x);
            q[i * ROW + r] = x;
        }
        memcpy(q + i * ROW + R, s.q + i * D + DN, DR * sizeof *q);
    }
    attend(q, s.rows, s.rows, 1, ROW, whole);
    ts_mla_args a = arguments(&s, filled(&ts_ref32, &s, s.rows, TS_KV_REAL));
    a.q = s.q;
    a.o = o;
    a.ql = ql;
    a.ol = ol;
    ts_ref32.op(TS_OP_MLA_ABSORBED, &a);
    for (int i = 0; i < T * H; i++) {
        ts_matrix w = {.format = TS_W_BF16, .N = DV, .K = R, .data = s.w + (i % H * (DN + DV) + DN) * R};
        ts_matmul_args project = {1, DV, R, whole + i * ROW, &w, y};
        ts_ref32.op(TS_OP_MATMUL_DOT32, &project);
        same_bits(ql + i * R, q + i * ROW, R);
        same_bits(ol + i * R, whole + i * ROW, R);
        same_bits(o + i * DV, y, DV);
    }
    free(a.kv.k);
    scene_free(&s);
}

/* The layer of the Kimi Linear golden, in ref64. */
enum { C = 64, KH = 2, KN = 16, KR = 8, KV = 16, RANK = 32, TOKENS = 70, PREFILL = 66 };

/* y [TOKENS,N] = x w^T */
static double *linear(const ts_safetensors *f, const char *name, const double *x)
{
    char full[128];
    snprintf(full, sizeof full, "model.layers.3.self_attn.%s.weight", name);
    const ts_tensor *t = ts_safetensors_find(f, full);
    assert_non_null(t);
    double *y = doubles(TOKENS * t->dim[0]);
    ts_matrix w = {.format = TS_W_BF16, .N = t->dim[0], .K = t->dim[1], .data = t->data};
    ts_matmul_args a = {TOKENS, w.N, w.K, ts_f64(x), &w, ts_f64(y)};
    ts_ref64.op(TS_OP_MATMUL_DOT32, &a);
    return y;
}

/* Rows of n channels, `stride` apart, normalised in place. */
static void normalise(const ts_safetensors *f, const char *name, double *x, int64_t n, int64_t stride, double eps)
{
    double *w = golden_f64(f, "model.layers.3", name);
    for (int64_t t = 0; t < TOKENS; t++) {
        ts_rmsnorm_args a = {1, n, 0, eps, ts_f64(x + t * stride), ts_f64(w), ts_f64(x + t * stride)};
        ts_ref64.op(TS_OP_RMSNORM, &a);
    }
    free(w);
}

/* Channels first .. first+n-1 of the rows after prefill, against what the golden's cache holds. */
static double cache_distance(const ts_safetensors *g, const char *name, const double *rows, int64_t first,
                             int64_t n)
{
    double *want = golden_f64(g, "t70.cache.3", name), *got = doubles(PREFILL * n);
    for (int64_t i = 0; i < PREFILL * n; i++)
        got[i] = rows[i / n * (RANK + KR) + first + i % n];
    double d = distance(got, want, PREFILL * n);
    free(want);
    free(got);
    return d;
}

static double mixer_distance(const ts_safetensors *f, const ts_safetensors *g, ts_op_id id, const double *q,
                             double *rows)
{
    int32_t pos[TOKENS], len[TOKENS], table[1] = {0};
    double *want = golden_f64(g, "t70.layer.3", "mixer"), *o = doubles(TOKENS * KH * KV),
           *ql = doubles(TOKENS * KH * RANK), *ol = doubles(TOKENS * KH * RANK);
    const ts_tensor *b = ts_safetensors_find(f, "model.layers.3.self_attn.kv_b_proj.weight");
    ts_matrix w = {.format = TS_W_BF16, .N = b->dim[0], .K = b->dim[1], .data = b->data};
    for (int32_t t = 0; t < TOKENS; t++)
        len[t] = (pos[t] = t) + 1;
    ts_mla_args a = {
        .T = TOKENS, .H = KH, .Dn = KN, .Dr = KR, .Dv = KV, .R = RANK, .parts = 1, .pos = pos, .len = len, .w = &w};
    a.scale = 1 / sqrt((double)(KN + KR));
    a.kv = (ts_kv){.page = TOKENS, .pages = 1, .table = table, .k = rows};
    a.q = ts_f64(q);
    a.o = ts_f64(o);
    a.ql = ts_f64(ql);
    a.ol = ts_f64(ol);
    ts_ref64.op(id, &a);
    double *y = linear(f, "o_proj", o), d = distance(y, want, TOKENS * C);
    double *all[] = {want, o, ql, ol, y};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    return d;
}

static void outside_golden(void **state)
{
    (void)state;
    ts_safetensors *f = golden_open("golden/external/rand-kimi-linear-weights.safetensors"),
                   *g = golden_open("golden/external/rand-kimi-linear-golden.safetensors");
    double *x = golden_f64(g, "t70.layer.2", "out");
    normalise(f, "input_layernorm.weight", x, C, C, 1e-5);
    double *q = linear(f, "q_proj", x), *rows = linear(f, "kv_a_proj_with_mqa", x);
    normalise(f, "self_attn.kv_a_layernorm.weight", rows, RANK, RANK + KR, 1e-6);
    double d[4] = {
        cache_distance(g, "k.after_prefill", rows, 0, RANK), cache_distance(g, "v.after_prefill", rows, RANK, KR),
        mixer_distance(f, g, TS_OP_MLA_ATTENTION, q, rows), mixer_distance(f, g, TS_OP_MLA_ABSORBED, q, rows)};
    print_message("latent %.2g, shared key %.2g, mixer %.2g, absorbed %.2g\n", d[0], d[1], d[2], d[3]);
    for (int i = 0; i < 4; i++)
        assert_true(d[i] < 2e-13);
    free(x);
    free(q);
    free(rows);
    ts_safetensors_close(f);
    ts_safetensors_close(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outside_golden),
        cmocka_unit_test(forms_agree),
        cmocka_unit_test(expanded_is_linear_and_attention),
        cmocka_unit_test(absorbed_is_chain_attention_and_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
