/* What the rest of a layer is in the R9700 engine LSE: a published hash of its split attention, and orders, floors
 * and clamps against plain codings. */
#include "call.h"

#include "num/exp_cr.h"

static uint32_t lcg;

static float draw(float unit)
{
    lcg = lcg * 1664525u + 1013904223u;
    return (float)((int)((lcg >> 16) % 17) - 8) * unit;
}

static uint32_t fnv(const float *x, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n * sizeof *x; i++)
        h = (h ^ ((const uint8_t *)x)[i]) * 16777619u;
    return h;
}

/* One query over 1041 keys of 256 channels in bf16: made and hashed outside, with gcc 12. */
static void published_hash_of_split_attention(void **state)
{
    (void)state;
    enum { L = 1041, D = 256, PAGE = 16, PAGES = (L + PAGE - 1) / PAGE };
    float q[D], o[D];
    uint16_t *k = room((int64_t)PAGES * PAGE * D, 2), *v = room((int64_t)PAGES * PAGE * D, 2);
    int32_t table[PAGES], pos = L - 1, len = L;
    lcg = 42;
    for (int i = 0; i < D; i++)
        q[i] = draw(1.0f / 32);
    for (int i = 0; i < L * D; i++) {
        k[i] = ts_f32_to_bf16(draw(1.0f / 8));
        v[i] = ts_f32_to_bf16(draw(1.0f / 8));
    }
    for (int i = 0; i < PAGES; i++)
        table[i] = i;
    ts_attention_args a = {
        .T = 1,
        .Hq = 1,
        .Hkv = 1,
        .D = D,
        .parts = (L + 127) / 128,
        .scale = 0.0625,
        .q = q,
        .pos = &pos,
        .len = &len,
        .kv = {.dtype = TS_KV_BF16, .page = PAGE, .pages = PAGES, .table = table, .k = k, .v = v},
        .o = o};
    ts_ref32.op(TS_OP_ATTENTION_LSE, &a);
    assert_true(o[0] == 0x1.239ceep-5f && o[255] == 0x1.f516a2p-14f);
    assert_int_equal(fnv(o, D), 0xf27ceb6au);
    free(k);
    free(v);
}

static float fold(float *lane, int down)
{
    for (int i = 0; i < 5; i++) {
        int mask = down ? 16 >> i : 1 << i;
        float next[32];
        for (int l = 0; l < 32; l++)
            next[l] = lane[l] + lane[l ^ mask];
        memcpy(lane, next, sizeof next);
    }
    return lane[0];
}

/* 1 / sqrt(mean of squares + eps): the partial sums of 256 threads, one of them after another; a chain if n < 32.
 */
static float plain_root(const float *x, int n)
{
    float lane[32], P[256] = {0}, chain = 0;
    for (int c = 0; c < n; c++)
        chain = fmaf(x[c], x[c], chain);
    for (int t = 0; t < 256; t++)
        for (int c = t; c < n; c += 256)
            P[t] = fmaf(x[c], x[c], P[t]);
    for (int l = 0; l < 32; l++) {
        float a0 = P[l] + P[l + 128], a1 = P[l + 64] + P[l + 192], a2 = P[l + 32] + P[l + 160],
              a3 = P[l + 96] + P[l + 224];
        lane[l] = (a0 + a1) + (a2 + a3);
    }
    return 1 / sqrtf((n < 32 ? chain : fold(lane, 1)) / (float)n + 1e-6f);
}

/* Rows enough that one of them shows any other order: the root hides most last bits. */
enum { ROWS = 200 };

static void order_of_the_norm(void **state)
{
    (void)state;
    static const int width[] = {5, 31, 32, 33, 128, 256, 700};
    for (int k = 0; k < 7; k++) {
        const int n = width[k];
        float *x = generated("normal", 0, ROWS * n), *w = generated("normal", 1, n), *y = floats(ROWS * n);
        ts_rmsnorm_args a = {ROWS, n, k % 2, 1e-6, x, w, y};
        ts_ref32.op(TS_OP_RMSNORM_LSE, &a);
        for (int t = 0; t < ROWS; t++) {
            const float r = plain_root(x + t * n, n);
            for (int i = 0; i < n; i++)
                assert_true(y[t * n + i] == (x[t * n + i] * r) * (k % 2 ? 1 + w[i] : w[i]));
        }
        free(x);
        free(w);
        free(y);
    }
}

static void a_floor_under_the_norm(void **state)
{
    (void)state;
    const float tiny[4] = {3e-8f, -4e-8f, 0, 0}, unit[4] = {3, -4, 0, 0};
    float y[4];
    const ts_op_id both[] = {TS_OP_L2NORM_LSE, TS_OP_L2NORM_LSE_ROWS};
    for (int i = 0; i < 2; i++) {
        ts_l2norm_args a = {1, 1, 4, 1e-6, 1, tiny, y};
        ts_ref32.op(both[i], &a);
        assert_true(y[0] == 3e-8f * (1 / 1e-6f)); /* not divided by a norm of 5e-8 */
        a.x = unit;
        a.scale = 0.5;
        ts_ref32.op(both[i], &a);
        assert_true(y[0] == (3.0f * (1 / 5.0f)) * 0.5f && y[1] == (-4.0f * (1 / 5.0f)) * 0.5f);
    }
}

/* Row by row in a wave, and in one chain; scaled last. */
static void orders_of_the_l2norm(void **state)
{
    (void)state;
    enum { D = 128 };
    const float scale = (float)pow(D, -0.5);
    float *x = generated("normal", 5, ROWS * D), *one = floats(ROWS * D), *many = floats(ROWS * D);
    ts_l2norm_args a = {ROWS, 1, D, 1e-6, pow(D, -0.5), x, one};
    ts_ref32.op(TS_OP_L2NORM_LSE, &a);
    a.y = many;
    ts_ref32.op(TS_OP_L2NORM_LSE_ROWS, &a);
    for (int t = 0; t < ROWS; t++) {
        float lane[32] = {0}, chain = 0;
        for (int i = t * D; i < (t + 1) * D; i++) {
            lane[i % 32] = fmaf(x[i], x[i], lane[i % 32]);
            chain = fmaf(x[i], x[i], chain);
        }
        const float wave = 1 / sqrtf(fold(lane, 0));
        chain = 1 / sqrtf(chain);
        for (int i = t * D; i < (t + 1) * D; i++)
            assert_true(one[i] == (x[i] * wave) * scale && many[i] == (x[i] * chain) * scale);
    }
    free(x);
    free(one);
    free(many);
}

/* The nearest f32 of exp each time, of the logarithm once. */
static void plain_gates(void **state)
{
    (void)state;
    enum { T = 4, H = 100 };
    float *a = generated("normal:8", 1, T * H), *b = generated("normal:4", 2, T * H),
          *rate = generated("normal", 3, H), *bias = generated("normal", 4, H), *g = floats(T * H),
          *beta = floats(T * H);
    ts_gdn_gates_args x = {T, H, a, b, rate, bias, g, beta};
    ts_ref32.op(TS_OP_GDN_GATES_LSE, &x);
    for (int i = 0; i < T * H; i++) {
        const float z = a[i] + bias[i % H], s = 1 / (1 + ts_exp_cr(-b[i])), low = 1e-4f, high = (float)(1 - 1e-4);
        const float soft = z > 20 ? z : (float)log((double)(1 + ts_exp_cr(z)));
        assert_true(g[i] == -(ts_exp_cr(rate[i % H]) * soft));
        assert_true(beta[i] == fmaxf(low, fminf(s, high)));
    }
    void *all[] = {a, b, rate, bias, g, beta};
    for (int i = 0; i < 6; i++)
        free(all[i]);
}

static void beta_is_clamped(void **state)
{
    (void)state;
    const float a[4] = {0, 25, -30, 1}, b[4] = {0, 100, -100, NAN}, rate[4] = {0}, bias[4] = {0};
    float g[4], beta[4];
    ts_gdn_gates_args x = {1, 4, a, b, rate, bias, g, beta};
    ts_ref32.op(TS_OP_GDN_GATES_LSE, &x);
    assert_true(beta[0] == 0.5f && beta[1] == (float)(1 - 1e-4) && beta[2] == (float)1e-4 && isnan(beta[3]));
    assert_true(g[1] == -25 && g[2] == 0); /* log(1 + exp(-30)) is lost */
    assert_true(fabs((double)g[0] + log(2)) < 1e-7);
}

enum { TOKENS = 24, KEYS = 2, VALUES = 6, DV = 3, MOST_DK = 66 };

typedef float dot(const float *x, const float *y, int n);

/* Two terms a lane or three. */
static float wave_dot(const float *x, const float *y, int n)
{
    float lane[32] = {0};
    for (int i = 0; i < n; i++)
        lane[i % 32] = fmaf(x[i], y[i], lane[i % 32]);
    return fold(lane, 0);
}

/* Two lanes of four chains. */
static float scan_dot(const float *x, const float *y, int n)
{
    float P[2][4] = {{0}};
    for (int h = 0; h < 2; h++)
        for (int c = 0; c < 4; c++)
            for (int i = h * ((n + 1) / 2) + c; i < (h ? n : (n + 1) / 2); i += 4)
                P[h][c] = fmaf(x[i], y[i], P[h][c]);
    return ((P[0][0] + P[0][1]) + (P[0][2] + P[0][3])) + ((P[1][0] + P[1][1]) + (P[1][2] + P[1][3]));
}

/* Token t, value head h, value channel j. */
static float plain_step(const ts_gdn_args *a, dot *sum, int t, int h, int j, float *S)
{
    const int Dk = (int)a->Dk;
    const float *q = a->q + (t * KEYS + h / 3) * Dk, *k = a->k + (t * KEYS + h / 3) * Dk;
    float column[MOST_DK], *s = S + h * Dk * DV + j;
    for (int i = 0; i < Dk; i++)
        column[i] = s[i * DV] * ts_exp_cr(a->g[t * VALUES + h]);
    const float d = (a->v[(t * VALUES + h) * DV + j] - sum(column, k, Dk)) * a->beta[t * VALUES + h];
    for (int i = 0; i < Dk; i++)
        s[i * DV] = column[i] = fmaf(d, k[i], column[i]);
    return sum(column, q, Dk);
}

static void assert_step(ts_op_id op, dot *sum, int Dk)
{
    float *q = generated("normal", 0, TOKENS * KEYS * Dk), *k = generated("normal:0.1", 1, TOKENS * KEYS * Dk),
          *v = generated("normal", 2, TOKENS * VALUES * DV), *g = generated("uniform:-1:0", 3, TOKENS * VALUES),
          *beta = generated("uniform:0:1", 4, TOKENS * VALUES), *S = generated("normal", 5, VALUES * Dk * DV),
          *want = copied(S, VALUES * Dk * DV), *o = floats(TOKENS * VALUES * DV);
    ts_gdn_args a = {.T = TOKENS,
                     .Hk = KEYS,
                     .Hv = VALUES,
                     .Dk = Dk,
                     .Dv = DV,
                     .q = q,
                     .k = k,
                     .v = v,
                     .g = g,
                     .beta = beta,
                     .state = S,
                     .o = o};
    ts_ref32.op(op, &a);
    for (int i = 0; i < TOKENS * VALUES * DV; i++)
        assert_true(o[i] == plain_step(&a, sum, i / (VALUES * DV), i / DV % VALUES, i % DV, want));
    same_bits(S, want, VALUES * Dk * DV);
    void *all[] = {q, k, v, g, beta, S, want, o};
    for (int i = 0; i < 8; i++)
        free(all[i]);
}

static void order_of_the_step(void **state)
{
    (void)state;
    assert_step(TS_OP_GDN_STEP_LSE, wave_dot, 64);
    assert_step(TS_OP_GDN_STEP_LSE, wave_dot, 66);
}

static void order_of_the_scan(void **state)
{
    (void)state;
    assert_step(TS_OP_GDN_SCAN_LSE, scan_dot, 64);
    assert_step(TS_OP_GDN_SCAN_LSE, scan_dot, 33);
}

static void silu_with_the_nearest_exp(void **state)
{
    (void)state;
    enum { D = 40, N = ROWS * D };
    float *x = generated("normal", 9, N), *w = generated("normal", 10, D), *z = generated("normal:4", 11, N),
          *y = floats(N), *up = floats(N);
    ts_zip_args s = {N, z, x, up};
    ts_gated_norm_args n = {ROWS, 1, D, 1e-6, x, w, z, y};
    ts_ref32.op(TS_OP_SWIGLU_LSE, &s);
    ts_ref32.op(TS_OP_GATED_NORM_LSE, &n);
    for (int i = 0; i < N; i++) {
        const float silu = z[i] / (1 + ts_exp_cr(-z[i])), r = plain_root(x + i / D * D, D);
        assert_true(up[i] == silu * x[i] && y[i] == ((x[i] * r) * w[i % D]) * silu);
    }
    void *all[] = {x, w, z, y, up};
    for (int i = 0; i < 5; i++)
        free(all[i]);
}

enum { QUERIES = 6, CACHED = 2, CHANNELS = 72, LENGTH = 300, PARTS = 3 };

/* One row of one query head against L keys, each partition's record made once and merged. */
static void plain_attention(const float *q, const float *k, const float *v, int h, int L, float *o)
{
    static float w[LENGTH], acc[PARTS][CHANNELS];
    float m[PARTS], l[PARTS] = {0}, M = -INFINITY, sum = 0;
    memset(acc, 0, sizeof acc);
    memset(o, 0, CHANNELS * sizeof *o);
    for (int p = 0; p < PARTS && 128 * p < L; p++) {
        const int hi = L < 128 * (p + 1) ? L : 128 * (p + 1);
        m[p] = -INFINITY;
        for (int j = 128 * p; j < hi; j++) {
            float lane[32] = {0};
            for (int c = 0; c < CHANNELS; c++)
                lane[c % 32] = fmaf(q[c], k[(h / 3 * LENGTH + j) * CHANNELS + c], lane[c % 32]);
            w[j] = fold(lane, 1) * (float)0.11;
            m[p] = fmaxf(m[p], w[j]);
        }
        for (int j = 128 * p; j < hi; j++) {
            w[j] = ts_exp_cr(w[j] - m[p]);
            l[p] += w[j];
            for (int c = 0; c < CHANNELS; c++)
                acc[p][c] = fmaf(w[j], v[(h / 3 * LENGTH + j) * CHANNELS + c], acc[p][c]);
        }
        M = fmaxf(M, m[p]);
    }
    for (int p = 0; p < PARTS && 128 * p < L; p++) {
        const float g = ts_exp_cr(m[p] - M);
        sum = fmaf(g, l[p], sum);
        for (int c = 0; c < CHANNELS; c++)
            o[c] = fmaf(g, acc[p][c], o[c]);
    }
    for (int c = 0; c < CHANNELS; c++)
        o[c] /= sum;
}

/* The published input's sums are exact: no other order shows in its hash. */
static void order_of_split_attention(void **state)
{
    (void)state;
    enum { T = 4 };
    const int32_t pos[T] = {0, 130, 256, LENGTH - 1}, len[T] = {1, 131, 257, LENGTH}, table[1] = {0};
    float *q = generated("normal", 1, T * QUERIES * CHANNELS),
          *k = generated("normal", 2, LENGTH * CACHED * CHANNELS),
          *v = generated("normal", 3, LENGTH * CACHED * CHANNELS), *o = floats(T * QUERIES * CHANNELS);
    ts_attention_args a = {.T = T,
                           .Hq = QUERIES,
                           .Hkv = CACHED,
                           .D = CHANNELS,
                           .parts = PARTS,
                           .scale = 0.11,
                           .q = q,
                           .pos = pos,
                           .len = len,
                           .kv = {.dtype = TS_KV_REAL, .page = LENGTH, .pages = 1, .table = table, .k = k, .v = v},
                           .o = o};
    ts_ref32.op(TS_OP_ATTENTION_LSE, &a);
    for (int i = 0; i < T * QUERIES; i++) {
        float want[CHANNELS];
        plain_attention(q + i * CHANNELS, k, v, i % QUERIES, len[i / QUERIES], want);
        same_bits(o + i * CHANNELS, want, CHANNELS);
    }
    void *all[] = {q, k, v, o};
    for (int i = 0; i < 4; i++)
        free(all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_hash_of_split_attention),
        cmocka_unit_test(order_of_the_norm),
        cmocka_unit_test(a_floor_under_the_norm),
        cmocka_unit_test(orders_of_the_l2norm),
        cmocka_unit_test(plain_gates),
        cmocka_unit_test(beta_is_clamped),
        cmocka_unit_test(order_of_the_step),
        cmocka_unit_test(order_of_the_scan),
        cmocka_unit_test(silu_with_the_nearest_exp),
        cmocka_unit_test(order_of_split_attention),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
