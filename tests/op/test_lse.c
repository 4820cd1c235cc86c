/* The products of the R9700 engine LSE: which class runs by rows and what that does to bits, the panels, and plain
 * codings of what no published hash covers. */
#include "call.h"

#include "config/lse.h"
#include "format/panel.h"
#include "num/exp_cr.h"

enum { MOST = 16, N = 3 };

typedef struct {
    int64_t K;
    float *x; /* [MOST][K] */
    uint32_t *word;
    uint16_t *s, *b;
    ts_matrix w;
    int8_t *code;
    float *step, *sum;
} problem;

static problem made(int64_t K, int bits)
{
    ts_error err;
    problem p = {.K = K,
                 .x = generated("normal", 1, MOST * K),
                 .word = room(N * K / 4, 4),
                 .s = room(N * K / 64, 2),
                 .b = room(N * K / 64, 2),
                 .code = room(MOST * K, 1),
                 .step = floats(MOST * K / 8),
                 .sum = floats(MOST * K / 64)};
    float *aux = floats(2 * N * K / 64);
    ts_generate_ints(3, 2, INT32_MIN, INT32_MAX, (int32_t *)p.word, N * K * bits / 32);
    assert_int_equal(ts_generate("normal:0.01", 5, 3, aux, 2 * N * K / 64, &err), TS_OK);
    for (int64_t i = 0; i < N * K / 64; i++) {
        p.s[i] = ts_f32_to_bf16(aux[i]);
        p.b[i] = ts_f32_to_bf16(8 * aux[N * K / 64 + i]);
    }
    p.w = (ts_matrix){.format = TS_W_MLX,
                      .N = N,
                      .K = K,
                      .data = p.word,
                      .bits = bits,
                      .group = 64,
                      .aux = TS_BF16,
                      .scales = p.s,
                      .biases = p.b};
    free(aux);
    return p;
}

static void release(problem *p)
{
    void *all[] = {p->x, p->word, p->s, p->b, p->code, p->step, p->sum};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* y[M][N] of the first M rows in a class, as the engine runs it for a matrix of `width` outputs */
static void product(problem *p, ts_lse_numerics class, int64_t M, int64_t width, float *y)
{
    ts_quantize_lse_a8_args q8 = {M, p->K, p->x, p->code, p->step, p->sum};
    ts_quantize_a64_args q64 = {M, p->K, p->x, p->code, p->step, p->sum};
    int64_t S = ts_lse_splits(ts_lse_rows(M, width, p->K), p->K);
    ts_matmul_lse_a8_args a8 = {M, N, p->K, S, p->code, p->step, p->sum, &p->w, y};
    ts_matmul_a64s8_args a64 = {M, N, p->K, p->code, p->step, p->sum, &p->w, y};
    ts_matmul_args ex = {M, N, p->K, p->x, &p->w, y};
    ts_matmul_lse_f16_args f16 = {M, N, p->K, ts_lse_slices(M, width, p->K), p->x, &p->w, y};
    switch (class) {
    case TS_LSE_A8:
        ts_ref32.op(TS_OP_QUANTIZE_LSE_A8, &q8);
        ts_ref32.op(TS_OP_MATMUL_LSE_A8, &a8);
        break;
    case TS_LSE_A64:
        ts_ref32.op(TS_OP_QUANTIZE_A64, &q64);
        ts_ref32.op(TS_OP_MATMUL_LSE_A64, &a64);
        break;
    case TS_LSE_EX:
        ts_ref32.op(TS_OP_MATMUL_LSE_EX, &ex);
        break;
    case TS_LSE_F16:
        ts_ref32.op(TS_OP_MATMUL_LSE_F16, &f16);
        break;
    }
}

/* The first row beside 0, 3, 7, 11 and 15 others, in the classes of `era`: are the bits those of the row before in
 * this list? */
static void assert_row(int64_t width, int64_t K, ts_lse_era era, const bool same[4])
{
    static const int64_t rows[] = {1, 4, 8, 12, 16};
    problem p = made(K, 4);
    float before[N], y[MOST * N];
    for (int i = 0; i < 5; i++) {
        product(&p, ts_lse_class(rows[i], width, K, era), rows[i], width, y);
        if (i > 0)
            assert_int_equal(memcmp(before, y, sizeof before) == 0, same[i - 1]);
        memcpy(before, y, sizeof before);
    }
    release(&p);
}

/* Down: A8 in 1 and 2 splits, A64, exact, then A64 or F16. Up: A8 in one split twice, in two, exact, A64 or F16.
 * in_proj_b (48 outputs) as up. */
static void bits_follow_the_class(void **state)
{
    (void)state;
    assert_row(5120, 17408, TS_LSE_ERA_A, (bool[]){false, false, false, false});
    assert_row(17408, 5120, TS_LSE_ERA_A, (bool[]){true, false, false, false});
    assert_row(48, 5120, TS_LSE_ERA_A, (bool[]){true, false, false, false});
    assert_row(17408, 5120, TS_LSE_ERA_B, (bool[]){true, false, false, false});
    assert_row(17408, 5120, TS_LSE_ERA_B9, (bool[]){true, false, false, true});
}

/* A row of one class has the bits it has alone, eight rows of `down` those of sixteen, and the house's own order
 * never looks at the number of rows. */
static void bits_agree_within_a_class(void **state)
{
    (void)state;
    problem p = made(17408, 4);
    float all[MOST * N], y[MOST * N];
    assert_int_equal(ts_lse_class(8, 5120, 17408, TS_LSE_ERA_A), ts_lse_class(16, 5120, 17408, TS_LSE_ERA_A));
    product(&p, TS_LSE_A64, 16, 5120, all);
    product(&p, TS_LSE_A64, 8, 5120, y);
    same_bits(all, y, 8 * N);
    for (int64_t M = 1; M <= MOST; M++) {
        ts_quantize_a64_args q = {M, p.K, p.x, p.code, p.step, p.sum};
        ts_matmul_a64s8_args a = {M, N, p.K, p.code, p.step, p.sum, &p.w, M == 1 ? all : y};
        ts_ref32.op(TS_OP_QUANTIZE_A64, &q);
        ts_ref32.op(TS_OP_MATMUL_A64S8, &a);
        same_bits(all, M == 1 ? all : y, N);
    }
    release(&p);
}

static void classes_by_rows(void **state)
{
    (void)state;
    static const int64_t rows[] = {1, 2, 7, 8, 9, 15, 16, 512, 1024};
    static const char *const other[] = {"000022111", "000022333", "000033333"};
    static const char *const down[] = {"000122111", "000122333", "000133333"};
    for (ts_lse_era era = TS_LSE_ERA_A; era <= TS_LSE_ERA_B9; era++)
        for (int i = 0; i < 9; i++) {
            assert_int_equal(ts_lse_class(rows[i], 17408, 5120, era), other[era][i] - '0');
            assert_int_equal(ts_lse_class(rows[i], 48, 5120, era), other[era][i] - '0');
            assert_int_equal(ts_lse_class(rows[i], 5120, 6144, era), other[era][i] - '0');
            assert_int_equal(ts_lse_class(rows[i], 5120, 17408, era), down[era][i] - '0');
        }
}

static void rows_and_splits(void **state)
{
    (void)state;
    static const struct {
        int64_t K, splits[4]; /* of 1, 2, 4 and 8 rows */
    } want[] = {{5120, {1, 1, 1, 2}}, {6144, {1, 1, 1, 2}}, {17408, {1, 1, 2, 4}}, {25600, {1, 2, 4, 0}}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        for (int r = 0; r < 4; r++)
            assert_int_equal(ts_lse_splits(1 << r, want[i].K), want[i].splits[r]);
    assert_int_equal(ts_lse_staging(4, 5120, 1), 33088);
    assert_int_equal(ts_lse_staging(8, 5120, 2), 33152);
    assert_int_equal(ts_lse_staging(4, 17408, 2), 56128);
    assert_int_equal(ts_lse_staging(8, 17408, 4), 56192);
    assert_int_equal(ts_lse_splits(8, 64 * 145), 0); /* 145 groups do not halve, and do not fit */
    static const int64_t up[] = {1, 2, 4, 4, 4, 4, 8, 8}, other[] = {1, 2, 2, 4, 4, 4, 4, 8};
    for (int64_t M = 1; M <= 8; M++) {
        assert_int_equal(ts_lse_rows(M, 17408, 5120), up[M - 1]);
        assert_int_equal(ts_lse_rows(M, 5120, 17408), up[M - 1]);
        assert_int_equal(ts_lse_rows(M, 6144, 5120), other[M - 1]);
    }
}

static void slices_of_the_tiled_product(void **state)
{
    (void)state;
    static const struct {
        int64_t M, N, K, slices;
    } want[] = {{128, 17408, 5120, 2},  {128, 5120, 17408, 8},  {128, 10240, 5120, 4}, {128, 6144, 5120, 4},
                {128, 12288, 5120, 2},  {128, 5120, 6144, 4},   {512, 5120, 17408, 2}, {512, 5120, 6144, 2},
                {512, 17408, 5120, 1},  {512, 6144, 5120, 1},   {1024, 1024, 5120, 4}, {1024, 48, 5120, 4},
                {1024, 5120, 17408, 1}, {1024, 17408, 5120, 1}, {16, 17408, 5120, 1},  {64, 5120, 17408, 4}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        assert_int_equal(ts_lse_slices(want[i].M, want[i].N, want[i].K), want[i].slices);
}

/* Every word of a panel is written by one value, where the description says. */
static void panel_a8(void **state)
{
    (void)state;
    enum { T = 3, K = 192 };
    assert_int_equal(ts_panel_a8_words(T, K), T * 75);
    uint8_t seen[4 * T * 75] = {0};
    for (int t = 0; t < T; t++) {
        for (int k = 0; k < K; k++)
            seen[ts_panel_a8_code(K, t, k)]++;
        for (int i = 0; i < 4 * K / 8; i++)
            seen[4 * ts_panel_a8_step(K, t, i / 4) + i % 4]++;
        for (int i = 0; i < 4 * K / 64; i++)
            seen[4 * ts_panel_a8_sum(K, t, i / 4) + i % 4]++;
    }
    for (size_t i = 0; i < sizeof seen; i++)
        assert_int_equal(seen[i], 1);
    assert_int_equal(ts_panel_a8_code(K, 0, 8 * 5 + 2 * 3 + 1), 4 * (2 * 5 + 1) + 3);
    assert_int_equal(ts_panel_a8_step(K, 1, 2), 75 + 48 + 2);
    assert_int_equal(ts_panel_a8_sum(K, 2, 1), 150 + 72 + 1);
}

static void panel_a64(void **state)
{
    (void)state;
    assert_int_equal(4 * ts_panel_a64_words(1024, 17408, 64), 20054016);
    assert_int_equal(4 * ts_panel_a64_words(1024, 5120, 64), 5898240);
    /* row 3, word 7 of group 1, byte 2: ascending value 30; with even and odd apart 3*8 + 1 + 4 = 29 */
    int64_t word = 288 + 1 * 64 + 1 * 32 + 6 + 1;
    assert_int_equal(ts_panel_a64_code(192, 16, TS_PANEL_ASCENDING, 3, 64 + 30), 4 * word + 2);
    assert_int_equal(ts_panel_a64_code(192, 16, TS_PANEL_EVEN_ODD, 3, 64 + 29), 4 * word + 2);
    assert_int_equal(ts_panel_a64_step(192, 16, 3, 1), 288 + 256 + 6);
    /* 64-row tiles: four blocks of a group, then the next group; row 80 is the second block of tile 1 */
    assert_int_equal(ts_panel_a64_step(192, 64, 80, 2), 288 * (4 * (3 + 2) + 1) + 256);
}

/* Rows beyond T are zero, and the rows before them do not depend on the tile but in their place. */
static void panel_padding(void **state)
{
    (void)state;
    enum { T = 8, K = 128 };
    problem p = made(K, 4);
    uint32_t panel[2 * 4 * 288];
    ts_quantize_a64_args q = {T, K, p.x, p.code, p.step, p.sum};
    ts_ref32.op(TS_OP_QUANTIZE_A64, &q);
    for (int64_t tile = 16; tile <= 64; tile += 48) {
        memset(panel, 0xff, sizeof panel);
        ts_panel_a64_pack(T, K, tile, TS_PANEL_EVEN_ODD, q.code, q.step, q.sum, panel);
        for (int64_t t = 0; t < tile; t++) {
            for (int64_t k = 0; k < K; k++) {
                int64_t at = ts_panel_a64_code(K, tile, TS_PANEL_EVEN_ODD, t, k);
                int8_t got = (int8_t)(panel[at / 4] >> 8 * (at % 4) & 255);
                assert_int_equal(got, t < T ? q.code[t * K + k] : 0);
            }
            for (int64_t g = 0; g < K / 64; g++) {
                int64_t at = ts_panel_a64_step(K, tile, t, g);
                assert_int_equal(panel[at], t < T ? ts_bits(q.step[t * 2 + g]) : 0);
                assert_int_equal(panel[at + 1], t < T ? ts_bits(q.sum[t * 2 + g]) : 0);
            }
        }
    }
    release(&p);
}

/* Codec A8 at its edges, a chunk each: zeros, -0, tiny, equal, an outlier, a tie, a NaN, an infinity. */
static void edges_of_the_codec(void **state)
{
    (void)state;
    const float c = 0x1.020408p-7f;
    float x[64] = {0}, step[8], sum;
    int8_t code[64];
    for (int i = 0; i < 8; i++) {
        x[8 + i] = -0.0f;
        x[24 + i] = i % 2 ? 3.7f : -3.7f;
    }
    x[16] = 1e-31f;
    x[32] = 1000;
    x[33] = 1;
    x[40] = -5;
    x[41] = 2.5f;
    ts_quantize_lse_a8_args a = {1, 64, x, code, step, &sum};
    ts_ref32.op(TS_OP_QUANTIZE_LSE_A8, &a);
    assert_true(ts_bits(step[0]) == 0 && ts_bits(step[1]) == 0 && code[0] == 0 && code[8] == 0);
    assert_true(code[16] == 13 && step[2] == 1e-31f * c);
    assert_true(code[24] == -127 && code[25] == 127 && step[3] == 3.7f * c);
    assert_true(code[32] == 127 && code[33] == 0 && step[4] == 1000 * c);
    assert_true(code[40] == -127 && code[41] == 64); /* 63.5 */
    x[48] = NAN;
    x[49] = 2;
    x[56] = -INFINITY;
    x[57] = 2;
    ts_ref32.op(TS_OP_QUANTIZE_LSE_A8, &a);
    assert_true(code[48] == 0 && code[49] == 127 && step[6] == 2 * c && isnan(sum));
    assert_true(code[56] == 0 && code[57] == 0 && isinf(step[7]));
}

/* The sum of a group is the declared tree where adding its chunks ascending gives other bits. */
static void order_of_the_sum(void **state)
{
    (void)state;
    problem p = made(1024, 4);
    int other = 0;
    for (int i = 0; i < MOST * 1024; i++)
        p.x[i] /= 3;
    ts_quantize_lse_a8_args a = {MOST, 1024, p.x, p.code, p.step, p.sum};
    ts_ref32.op(TS_OP_QUANTIZE_LSE_A8, &a);
    for (int g = 0; g < MOST * 16; g++) {
        float s[8], ascending = 0;
        for (int i = 0; i < 64; i++)
            s[i / 8] = i % 8 ? s[i / 8] + p.x[64 * g + i] : p.x[64 * g + i];
        for (int c = 0; c < 8; c++)
            ascending = c ? ascending + s[c] : s[c];
        float want = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
        same_bits(&p.sum[g], &want, 1);
        other += want != ascending;
    }
    assert_true(other > 0);
    release(&p);
}

/* A NaN or an infinity in x makes every output of its row a NaN in the classes with codes, and leaves the others.
 */
static void not_finite_is_nan(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++)
        for (ts_lse_numerics class = TS_LSE_A8; class <= TS_LSE_A64; class ++) {
            problem p = made(320, 4);
            float y[4 * N];
            p.x[320 + 7] = bad[i];
            product(&p, class, 4, 5120, y);
            for (int j = 0; j < 4 * N; j++)
                assert_int_equal(isnan(y[j]) != 0, j / N == 1);
            release(&p);
        }
}

/* Lanes by number: chunk c of a word of weights each. 8 bits; K with a whole 128 chunks and a rest. */
static void plain_exact(void **state)
{
    (void)state;
    enum { K = 704, CHUNKS = K / 4 };
    problem p = made(K, 8);
    float y[2 * N];
    product(&p, TS_LSE_EX, 2, 5120, y);
    for (int i = 0; i < 2 * N; i++) {
        float lane[32] = {0};
        for (int k = 0; k < K; k++) {
            int c = k / 4, l = c < CHUNKS / 128 * 128 ? c / 4 % 32 : c % 32, g = i % N * (K / 64) + k / 64;
            float u = ((const uint8_t *)p.word)[i % N * K + k];
            float w = fmaf(u, ts_bf16_to_f32(p.s[g]), ts_bf16_to_f32(p.b[g]));
            lane[l] = fmaf(p.x[i / N * K + k], w, lane[l]);
        }
        for (int n = 16; n > 0; n /= 2)
            for (int l = 0; l < n; l++)
                lane[l] = lane[2 * l] + lane[2 * l + 1];
        same_bits(&y[i], lane, 1);
    }
    release(&p);
}

static float h(float x)
{
    return ts_f16_to_f32(ts_f32_to_f16(x));
}

/* One slice of the tiled product, the values of an eight in the given order. */
static float plain_slice(const problem *p, int t, int n, int first, int end, const int order[8])
{
    float o = 0;
    for (int i = first; i < end; i++) {
        int k = i / 8 * 8 + order[i % 8], g = n * (int)(p->K / 64) + k / 64;
        float u = (float)(p->word[(n * p->K + k) / 8] >> 4 * (k % 8) & 15);
        float w = h(h(u * h(ts_bf16_to_f32(p->s[g]))) + h(ts_bf16_to_f32(p->b[g])));
        o = fmaf(h(p->x[t * p->K + k]), w, o);
    }
    return o;
}

static void plain_tiled(void **state)
{
    (void)state;
    static const int slots[8] = {0, 4, 1, 5, 2, 6, 3, 7}, ascending[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    enum { K = 512 };
    problem p = made(K, 4);
    p.s[0] = ts_f32_to_bf16(0x1.fep-18f); /* a tie between subnormal f16 */
    float y[MOST * N];
    int other_order = 0, other_tree = 0;
    for (int S = 1; S <= 8; S *= 2) {
        ts_matmul_lse_f16_args a = {MOST, N, K, S, p.x, &p.w, y};
        ts_ref32.op(TS_OP_MATMUL_LSE_F16, &a);
        for (int i = 0; i < MOST * N; i++) {
            float z[8] = {0}, want, wrong = plain_slice(&p, i / N, i % N, 0, K / S, ascending);
            for (int q = 0; q < S; q++)
                z[q] = plain_slice(&p, i / N, i % N, q * K / S, (q + 1) * K / S, slots);
            want = z[0];
            for (int q = 1; q < S; q++) {
                want += z[q];
                wrong += plain_slice(&p, i / N, i % N, q * K / S, (q + 1) * K / S, ascending);
            }
            same_bits(&y[i], &want, 1);
            other_order += want != wrong;
            other_tree += S == 4 && want != (z[0] + z[1]) + (z[2] + z[3]);
        }
    }
    assert_true(other_order > 0 && other_tree > 0);
    release(&p);
}

/* 65520 is an infinity in f16, so the product is one too. */
static void tiled_overflows(void **state)
{
    (void)state;
    problem p = made(64, 4);
    float y[N];
    p.x[9] = 65519;
    product(&p, TS_LSE_F16, 1, 5120, y);
    assert_true(isfinite(y[0]) && isfinite(y[1]) && isfinite(y[2]));
    p.x[9] = 65520;
    product(&p, TS_LSE_F16, 1, 5120, y);
    assert_false(isfinite(y[0]) || isfinite(y[1]) || isfinite(y[2]));
    release(&p);
}

/* Fused or not, the FFN has the same numbers; exp is the nearest f32. */
static void fused_is_unfused(void **state)
{
    (void)state;
    enum { K = 2560, M = 8 };
    problem p = made(K, 4);
    ts_matrix up = ts_matrix_rows(&p.w, 1, 2), gate = ts_matrix_rows(&p.w, 0, 2);
    float g[M * 2], u[M * 2], y[M * 2], inner[2][M * 2];
    ts_quantize_lse_a8_args q = {M, K, p.x, p.code, p.step, p.sum};
    ts_matmul_lse_a8_args mg = {M, 2, K, 2, p.code, p.step, p.sum, &gate, g}, mu = mg;
    ts_gate_up_lse_a8_args f = {M, 2, K, 2, p.code, p.step, p.sum, &gate, &up, y, inner[0], inner[1]};
    mu.w = &up;
    mu.y = u;
    ts_ref32.op(TS_OP_QUANTIZE_LSE_A8, &q);
    ts_ref32.op(TS_OP_MATMUL_LSE_A8, &mg);
    ts_ref32.op(TS_OP_MATMUL_LSE_A8, &mu);
    ts_ref32.op(TS_OP_GATE_UP_LSE_A8, &f);
    same_bits(inner[0], g, M * 2);
    same_bits(inner[1], u, M * 2);
    for (int i = 0; i < M * 2; i++) {
        float want = g[i] / (1 + ts_exp_cr(-g[i])) * u[i];
        same_bits(&y[i], &want, 1);
    }
    release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_follow_the_class),
        cmocka_unit_test(bits_agree_within_a_class),
        cmocka_unit_test(classes_by_rows),
        cmocka_unit_test(rows_and_splits),
        cmocka_unit_test(slices_of_the_tiled_product),
        cmocka_unit_test(panel_a8),
        cmocka_unit_test(panel_a64),
        cmocka_unit_test(panel_padding),
        cmocka_unit_test(edges_of_the_codec),
        cmocka_unit_test(order_of_the_sum),
        cmocka_unit_test(not_finite_is_nan),
        cmocka_unit_test(plain_exact),
        cmocka_unit_test(plain_tiled),
        cmocka_unit_test(tiled_overflows),
        cmocka_unit_test(fused_is_unfused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
