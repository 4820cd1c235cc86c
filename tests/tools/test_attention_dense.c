/* Attention coded a second time: one softmax over the whole row in long double, dense keys, no
 * partitions, no pages, nothing of ref. ref64 must be within what its own roundings allow: the bound of f32
 * scaled to double, 2^-29, and doubled for libm's exp (2 ulp instead of about 1) and for long double's own share.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/bound.h"
#include "num/convert.h"
#include "num/generate.h"
#include "ref.h"

enum {
    T = 5,
    H = 4,
    HKV = 2,
    D = 24,
    TOKENS = 300,
    PARTS = 3,
    PAGE = 16,
    PAGES = TOKENS / PAGE + 1,
    ROWS = PAGES * PAGE * HKV
};
static const double allowed = 0x1p-28;

static const int32_t pos[T] = {299, 256, 128, 127, 299}, len[T] = {300, 300, 300, 140, 0};

typedef struct {
    const char *q, *k, *v; /* generators */
    double scale;
    int64_t window, both;
} inputs;

static const inputs table[] = {
    {"normal", "normal", "normal", 0.2, 0, 0},
    {"normal", "normal", "normal", 0.2, 1, 0},
    {"normal", "normal", "normal", 0.2, 129, 0},
    {"normal:16", "normal:16", "normal", 1, 0, 0},               /* one key takes all */
    {"const:0", "normal", "normal", 1, 0, 0},                    /* all weights equal */
    {"const:1", "const:2", "put:9:1000000:normal", 0.5, 100, 0}, /* all scores equal, one large value */
    {"normal", "normal", "normal:1e30", 0.2, 0, 0},
    {"normal:1e15", "normal:1e-15", "normal:1e-30", 0.2, 0, 0},
    {"pow2:-3:3", "pow2:-3:3", "ints:-4:4", 0.25, 150, 0},
    {"ladder:1,-1,0.5,-0.5,8,-8,3", "ladder:40,-40,0,0.001,7", "ladder:1e20,1,-1e20,-1,1e-20", 0.1, 0, 0},
    {"put:30:500:normal", "normal", "interleave:normal;const:1e10", 1, 77, 0},
    {"normal", "normal", "normal", 0.2, 0, 1},
    {"normal", "normal", "normal", 0.2, 1, 1},
    {"normal", "normal", "normal", 0.2, 5, 1},
    {"normal", "normal", "normal", 0.2, 129, 1},
    {"const:0", "normal", "normal", 1, 130, 1},
    {"normal:16", "normal:16", "normal", 1, 40, 1},
};

typedef struct {
    float *q, *k, *v; /* [T,H,D], [TOKENS,HKV,D] */
    double *q64;
    long double *wide[2]; /* what the cache holds of k and v */
    int32_t table[PAGES];
    float scales[2 * ROWS];
    void *pool[4]; /* k, v for f32; k, v for double */
    ts_kv kv32, kv64;
} scene;

static void *room(size_t n, size_t size)
{
    void *p = calloc(n, size);
    assert_non_null(p);
    return p;
}

static float *generated(const char *spec, uint32_t stream, int64_t n)
{
    float *y = room((size_t)n, sizeof *y);
    assert_int_equal(ts_generate(spec, 77, stream, y, n, NULL), TS_OK);
    return y;
}

/* One row of D numbers as the cache holds it. */
static void kept(ts_kv_dtype dtype, const float *x, long double *y)
{
    float amax = 0, largest = dtype == TS_KV_E4M3 ? 448 : 57344;
    for (int c = 0; c < D; c++)
        amax = fmaxf(amax, fabsf(x[c]));
    float scale = fmaxf(amax / largest, 0x1p-126f);
    for (int c = 0; c < D; c++)
        y[c] = dtype == TS_KV_REAL   ? (long double)x[c]
               : dtype == TS_KV_BF16 ? (long double)ts_bf16_to_f32(ts_f32_to_bf16(x[c]))
               : dtype == TS_KV_F16  ? (long double)ts_f16_to_f32(ts_f32_to_f16(x[c]))
               : dtype == TS_KV_E4M3
                   ? (long double)ts_e4m3_to_f32(ts_f32_to_e4m3(x[c] / scale)) * (long double)scale
                   : (long double)ts_e5m2_to_f32(ts_f32_to_e5m2(x[c] / scale)) * (long double)scale;
}

/* The same numbers in a cache of floats and in one of doubles, where `real`. */
static void fill(scene *s, ts_kv_dtype dtype)
{
    for (int i = 0; i < 4; i++)
        s->pool[i] = room(ROWS * D, sizeof(double));
    for (int i = 0; i < PAGES; i++)
        s->table[i] = (i * 7 + 3) % PAGES; /* PAGES is 19 */
    s->kv32 = (ts_kv){.dtype = dtype,
                      .page = PAGE,
                      .pages = PAGES,
                      .table = s->table,
                      .k = s->pool[0],
                      .v = s->pool[1],
                      .k_scale = s->scales,
                      .v_scale = s->scales + ROWS,
                      .width = D};
    s->kv64 = s->kv32;
    if (dtype == TS_KV_REAL) {
        s->kv64.k = s->pool[2];
        s->kv64.v = s->pool[3];
    }
    ts_kv_store_args put = {TOKENS, HKV, D, 0, s->k, s->v, s->kv32};
    ts_ref32.op(TS_OP_KV_STORE, &put);
    for (int i = 0; i < ROWS * D && dtype == TS_KV_REAL; i++) {
        ((double *)s->pool[2])[i] = (double)((float *)s->pool[0])[i];
        ((double *)s->pool[3])[i] = (double)((float *)s->pool[1])[i];
    }
}

static scene *scene_new(const inputs *in, ts_kv_dtype dtype)
{
    scene *s = room(1, sizeof *s);
    s->q = generated(in->q, 1, T * H * D);
    s->k = generated(in->k, 2, TOKENS * HKV * D);
    s->v = generated(in->v, 3, TOKENS * HKV * D);
    s->q64 = room(T * H * D, sizeof *s->q64);
    for (int i = 0; i < T * H * D; i++)
        s->q64[i] = (double)s->q[i];
    for (int n = 0; n < 2; n++) {
        s->wide[n] = room(TOKENS * HKV * D, sizeof *s->wide[n]);
        for (int i = 0; i < TOKENS * HKV; i++)
            kept(dtype, (n ? s->v : s->k) + i * D, s->wide[n] + i * D);
    }
    fill(s, dtype);
    return s;
}

static void scene_free(scene *s)
{
    void *all[] = {s->q,       s->k,       s->v,       s->q64,     s->wide[0], s->wide[1],
                   s->pool[0], s->pool[1], s->pool[2], s->pool[3], s};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static bool visible(const inputs *in, int t, int j)
{
    bool near = in->window == 0 || llabs(pos[t] - j) < in->window;
    return j < len[t] && near && (j <= pos[t] || in->both);
}

static long double dense_score(const inputs *in, const scene *s, int t, int h, int j)
{
    long double dot = 0;
    for (int c = 0; c < D; c++)
        dot += (long double)s->q[(t * H + h) * D + c] * s->wide[0][(j * HKV + h / (H / HKV)) * D + c];
    return dot * (long double)in->scale;
}

/* o[D] of row t, head h, and the log of the sum of exp(s): -inf without a key. */
static long double dense(const inputs *in, const scene *s, int t, int h, long double *o)
{
    long double w[TOKENS], most = -(long double)INFINITY, sum = 0;
    for (int j = 0; j < TOKENS; j++) {
        w[j] = visible(in, t, j) ? dense_score(in, s, t, h, j) : -(long double)INFINITY;
        most = fmaxl(most, w[j]);
    }
    for (int c = 0; c < D; c++)
        o[c] = 0;
    for (int j = 0; j < TOKENS; j++)
        sum += w[j] = visible(in, t, j) ? expl(w[j] - most) : 0;
    for (int j = 0; j < TOKENS; j++)
        for (int c = 0; c < D && visible(in, t, j); c++)
            o[c] += w[j] / sum * s->wide[1][(j * HKV + h / (H / HKV)) * D + c];
    return sum > 0 ? most + logl(sum) : -(long double)INFINITY;
}

static void *f64(const double *x)
{
    return (void *)x;
}

static void compare(const inputs *in, const scene *s, double *worst, int *judged)
{
    double o[T * H * D], M[T * H], L[T * H], bound[T * H * D], bound_M[T * H], bound_L[T * H];
    ts_attention_args a = {.T = T,
                           .Hq = H,
                           .Hkv = HKV,
                           .D = D,
                           .parts = PARTS,
                           .window = in->window,
                           .both = in->both,
                           .scale = in->scale,
                           .q = f64(s->q64),
                           .pos = pos,
                           .len = len,
                           .kv = s->kv64,
                           .o = f64(o),
                           .M = f64(M),
                           .L = f64(L)};
    ts_ref64.op(TS_OP_ATTENTION, &a);
    a.q = s->q;
    a.kv = s->kv32;
    assert_int_equal(ts_bound(TS_OP_ATTENTION, &a, NULL, "o", bound, NULL), TS_OK);
    assert_int_equal(ts_bound(TS_OP_ATTENTION, &a, NULL, "M", bound_M, NULL), TS_OK);
    assert_int_equal(ts_bound(TS_OP_ATTENTION, &a, NULL, "L", bound_L, NULL), TS_OK);
    for (int i = 0; i < T * H; i++) {
        long double want[D], log_sum = dense(in, s, i / H, i % H, want);
        for (int c = 0; c < D; c++) {
            double off = (double)fabsl((long double)o[i * D + c] - want[c]), room = bound[i * D + c] * allowed;
            if (!isfinite(room))
                continue;
            if (off > room)
                fail_msg("row %d channel %d: %.17g, second coding %.20Lg, off by %g, allowed %g", i, c,
                         o[i * D + c], want[c], off, room);
            *worst = off > 0 ? fmax(*worst, off / room) : *worst;
            ++*judged;
        }
        if (L[i] == 0)
            assert_true(isinf(M[i]) && M[i] < 0 && isinf(log_sum) && log_sum < 0 && o[i * D] == 0);
        else if (isfinite(bound_L[i]))
            assert_true(fabs(M[i] + log(L[i]) - (double)log_sum) <=
                        (bound_M[i] + bound_L[i] / L[i]) * allowed + 4 * 0x1p-53 * (fabs(M[i]) + log(L[i])));
    }
}

static void ref64_is_the_whole_row_softmax(void **state)
{
    (void)state;
    double worst = 0;
    int judged = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (ts_kv_dtype d = TS_KV_REAL; d <= TS_KV_E5M2; d++) {
            scene *s = scene_new(&table[i], d);
            compare(&table[i], s, &worst, &judged);
            scene_free(s);
        }
    print_message("%d numbers, largest distance %.3f of what is allowed\n", judged, worst);
    assert_true(judged > 20000 && worst > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ref64_is_the_whole_row_softmax)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
