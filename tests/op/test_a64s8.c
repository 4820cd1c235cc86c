/* The activation codec A64 and the restore A64S8: a fingerprint computed elsewhere,
 * a plain coding for every number of slices, and the codec at its edges. */
#include "call.h"

typedef struct {
    int64_t T, N, K;
    int bits;
    float *x;
    uint8_t *u; /* codes [N][K] */
    uint8_t *packed;
    uint16_t *s, *b; /* bf16 [N][K/64] */
    ts_matrix w;
    int8_t *code;
    float *step, *sum, *y;
} problem;

static problem empty(int64_t T, int64_t N, int64_t K, int bits)
{
    int64_t G = K / 64;
    problem p = {T,
                 N,
                 K,
                 bits,
                 floats(T * K),
                 room(N * K, 1),
                 room(N * K * bits / 8, 1),
                 room(N * G, 2),
                 room(N * G, 2),
                 {0},
                 room(T * K, 1),
                 floats(T * G),
                 floats(T * G),
                 floats(T * N)};
    return p;
}

static void release(problem *p)
{
    void *all[] = {p->x, p->u, p->packed, p->s, p->b, p->code, p->step, p->sum, p->y};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void run32(problem *p)
{
    for (int64_t i = 0; i < p->N * p->K; i++)
        if (p->bits == 4)
            p->packed[i / 2] = (uint8_t)(p->packed[i / 2] | p->u[i] << (4 * (i % 2)));
        else
            p->packed[i] = p->u[i];
    p->w = (ts_matrix){.format = TS_W_MLX,
                       .N = p->N,
                       .K = p->K,
                       .data = p->packed,
                       .bits = p->bits,
                       .group = 64,
                       .aux = TS_BF16,
                       .scales = p->s,
                       .biases = p->b};
    ts_quantize_a64_args q = {p->T, p->K, p->x, p->code, p->step, p->sum};
    ts_ref32.op(TS_OP_QUANTIZE_A64, &q);
    ts_matmul_a64s8_args m = {p->T, p->N, p->K, p->code, p->step, p->sum, &p->w, p->y};
    ts_ref32.op(TS_OP_MATMUL_A64S8, &m);
}

static uint32_t lcg;

static int32_t draw(void)
{
    lcg = lcg * 1664525u + 1013904223u;
    return (int32_t)(lcg >> 16);
}

static problem fingerprint_input(void)
{
    problem p = empty(8, 16, 2304, 4);
    lcg = 42;
    for (int64_t i = 0; i < p.T * p.K; i++)
        p.x[i] = (float)(draw() - 32768) / 8192;
    for (int64_t i = 0; i < p.N * p.K; i++)
        p.u[i] = draw() & 15;
    for (int64_t i = 0; i < p.N * p.K / 64; i++) {
        p.s[i] = ts_f32_to_bf16((float)(draw() % 256 - 128) / 8192);
        p.b[i] = ts_f32_to_bf16((float)(draw() % 256 - 128) / 1024);
    }
    for (int i = 0; i < 64; i++) {
        p.x[p.K + i] = 0;
        p.x[2 * p.K + i] = 0.5f;
    }
    p.x[3 * p.K + 5] = 1024;
    return p;
}

static void fingerprint(void **state)
{
    (void)state;
    problem p = fingerprint_input();
    run32(&p);
    uint32_t hash = 2166136261u;
    for (int64_t i = 0; i < p.T * p.N; i++)
        for (int byte = 0; byte < 4; byte++)
            hash = (hash ^ (ts_bits(p.y[i]) >> (8 * byte) & 255)) * 16777619u;
    print_message("FNV-1a-32 of the output: %08x\n", hash);
    assert_int_equal(hash, 0xb3904efcu);
    release(&p);
}

/* One output from the unpacked codes, each slice in an array of its own. */
static float plain(const problem *p, int64_t t, int64_t n)
{
    int64_t G = p->K / 64, S = G >= 8 ? 8 : G >= 4 ? 4 : G >= 2 ? 2 : 1;
    float o[8] = {0};
    for (int64_t z = 0; z < S; z++)
        for (int64_t g = z * G / S; g < (z + 1) * G / S; g++) {
            int32_t D = 0;
            for (int64_t k = 64 * g; k < 64 * (g + 1); k++)
                D += p->u[n * p->K + k] * p->code[t * p->K + k];
            float term = ts_bf16_to_f32(p->s[n * G + g]) * p->step[t * G + g];
            o[z] = fmaf(ts_bf16_to_f32(p->b[n * G + g]), p->sum[t * G + g], fmaf(term, (float)D, o[z]));
        }
    if (S == 8)
        return ((o[0] + o[1]) + (o[2] + o[3])) + ((o[4] + o[5]) + (o[6] + o[7]));
    return S == 4 ? (o[0] + o[1]) + (o[2] + o[3]) : S == 2 ? o[0] + o[1] : o[0];
}

static void every_slicing(void **state)
{
    (void)state;
    for (int64_t G = 1; G <= 19; G++)
        for (int bits = 4; bits <= 8; bits += 4) {
            problem p = empty(11, 5, 64 * G, bits);
            free(p.x);
            p.x = generated("normal", (uint32_t)G, p.T * p.K);
            lcg = (uint32_t)G;
            for (int64_t i = 0; i < p.N * p.K; i++)
                p.u[i] = (uint8_t)(draw() % (1 << bits));
            for (int64_t i = 0; i < p.N * G; i++) {
                p.s[i] = ts_f32_to_bf16((float)(draw() - 32768) / 65536);
                p.b[i] = ts_f32_to_bf16((float)(draw() - 32768) / 8192);
            }
            run32(&p);
            for (int64_t i = 0; i < p.T * p.N; i++) {
                float y = plain(&p, i / p.N, i % p.N);
                same_bits(&p.y[i], &y, 1);
            }
            release(&p);
        }
}

typedef struct {
    int8_t code[64];
    float step, sum;
} run;

static run encode(const float x[64])
{
    run r;
    ts_quantize_a64_args a = {1, 64, x, r.code, &r.step, &r.sum};
    ts_ref32.op(TS_OP_QUANTIZE_A64, &a);
    return r;
}

/* The sum is the declared one on runs where other orders give other bits. */
static void order_of_the_sum(void **state)
{
    (void)state;
    float *all = generated("normal", 3, 100 * 64);
    int not_ascending = 0, not_balanced = 0;
    for (float *x = all; x < all + 100 * 64; x += 64) {
        float s[4], ascending = 0;
        for (int i = 0; i < 64; i++) {
            x[i] /= 3;
            ascending += x[i];
            s[i / 16] = i % 16 ? s[i / 16] + x[i] : x[i];
        }
        float declared = ((s[0] + s[1]) + s[2]) + s[3];
        not_ascending += declared != ascending;
        not_balanced += declared != (s[0] + s[1]) + (s[2] + s[3]);
        assert_true(encode(x).sum == declared);
    }
    assert_true(not_ascending > 0 && not_balanced > 0);
    free(all);
}

static void edges_of_the_codec(void **state)
{
    (void)state;
    float x[64] = {0};
    run r = encode(x);
    assert_true(r.step == 0 && r.sum == 0 && r.code[0] == 0);
    x[7] = -1e-31f; /* below 1e-30 the codes shrink and the step does not */
    r = encode(x);
    assert_int_equal(r.code[7], -13);
    assert_true(r.step == 1e-31f * 0x1.020408p-7f);
    x[7] = -5;
    x[8] = 2.5f; /* 63.5, a tie: to even */
    r = encode(x);
    assert_int_equal(r.code[7], -127);
    assert_int_equal(r.code[8], 64);
    x[9] = NAN; /* skipped by amax, seen by the sum */
    r = encode(x);
    assert_true(isnan(r.sum) && r.step == 5 * 0x1.020408p-7f);
    assert_int_equal(r.code[7], -127);
    assert_int_equal(r.code[9], 0);
    x[9] = INFINITY;
    r = encode(x);
    assert_true(isinf(r.step) && isinf(r.sum));
    assert_int_equal(r.code[7], 0);
    assert_int_equal(r.code[9], 0);
}

/* The largest element of a run has code 127 whatever the largest is. */
static void largest_is_127(void **state)
{
    (void)state;
    float x[64];
    for (uint32_t u = ts_bits(1e-30f); u < 0x7f800000u; u += 7919) {
        for (int i = 0; i < 64; i++)
            x[i] = ts_float(u) * (i % 2 ? -1.0f : 1.0f);
        run r = encode(x);
        assert_true(r.code[0] == 127 && r.code[63] == -127);
    }
}

/* ref64 runs the same codec in double: the same codes except at ties, and the restored product lies
 * within the rounding of ref32. */
static void ref64_agrees(void **state)
{
    (void)state;
    problem p = fingerprint_input();
    run32(&p);
    int64_t G = p.K / 64, differ = 0;
    double *x = widened(p.x, p.T * p.K), *step = doubles(p.T * G), *sum = doubles(p.T * G), *y = doubles(p.T * p.N);
    int8_t *code = room(p.T * p.K, 1);
    ts_quantize_a64_args q = {p.T, p.K, ts_f64(x), code, ts_f64(step), ts_f64(sum)};
    ts_ref64.op(TS_OP_QUANTIZE_A64, &q);
    for (int64_t i = 0; i < p.T * p.K; i++) {
        differ += code[i] != p.code[i];
        assert_true(abs(code[i] - p.code[i]) <= 1);
    }
    ts_matmul_a64s8_args m = {p.T, p.N, p.K, p.code, ts_f64(step), ts_f64(sum), &p.w, ts_f64(y)};
    ts_ref64.op(TS_OP_MATMUL_A64S8, &m);
    double *y32 = widened(p.y, p.T * p.N);
    double d = distance(y32, y, p.T * p.N);
    print_message("%lld of %lld codes differ; restored on ref32's codes: within %.2g\n", (long long)differ,
                  (long long)(p.T * p.K), d);
    assert_true(differ < p.T * p.K / 1000 && d < 1e-6);
    void *all[] = {x, step, sum, y, code, y32};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fingerprint),        cmocka_unit_test(every_slicing),  cmocka_unit_test(order_of_the_sum),
        cmocka_unit_test(edges_of_the_codec), cmocka_unit_test(largest_is_127), cmocka_unit_test(ref64_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
