/* The delta rule's forms against each other: one recurrence serves Gated DeltaNet and Kimi Delta Attention; the
 * chunk form stays within derived bounds of the step for every gate and length; rows committed late are the chunk
 * form; and a second coding, dense matrices in long double, agrees with ref64. */
#include "call.h"

#include "check/bound.h"
#include "num/generate.h"

enum { DK = 16, DV = 16, MOST_T = 300 };

/* One head. g [T,DK], the same for all channels if `flat`. */
typedef struct {
    int64_t T;
    float q[MOST_T * DK], k[MOST_T * DK], v[MOST_T * DV], g[MOST_T * DK], flat[MOST_T], beta[MOST_T];
    float state[DK * DV], o[MOST_T * DV];
} sequence;

static void make(sequence *s, int64_t T, double gate, bool kda, uint64_t seed)
{
    s->T = T;
    ts_generate("normal", seed, 0, s->q, T * DK, NULL);
    ts_generate("normal", seed, 1, s->k, T * DK, NULL);
    ts_generate("normal", seed, 2, s->v, T * DV, NULL);
    ts_generate("uniform:0:1", seed, 3, s->beta, T, NULL);
    ts_generate("normal", seed, 4, s->state, DK * DV, NULL);
    ts_generate("uniform:0.5:1.5", seed, 5, s->g, T * DK, NULL);
    for (int64_t i = 0; i < T; i++)
        s->flat[i] = (float)gate;
    for (int64_t i = 0; i < T * DK; i++)
        s->g[i] = kda ? s->g[i] * (float)gate : (float)gate;
    ts_l2norm_args n = {T, 1, DK, 1e-6, 0.25, s->q, s->q};
    ts_ref32.op(TS_OP_L2NORM, &n);
    n = (ts_l2norm_args){T, 1, DK, 1e-6, 1, s->k, s->k};
    ts_ref32.op(TS_OP_L2NORM, &n);
}

/* Rows first .. first+n-1 */
static ts_gdn_args args(sequence *s, bool kda, int64_t chunk, int64_t first, int64_t n)
{
    return (ts_gdn_args){.T = n,
                         .Hk = 1,
                         .Hv = 1,
                         .Dk = DK,
                         .Dv = DV,
                         .pos = first,
                         .chunk = chunk,
                         .q = s->q + first * DK,
                         .k = s->k + first * DK,
                         .v = s->v + first * DV,
                         .g = kda ? s->g + first * DK : s->flat + first,
                         .beta = s->beta + first,
                         .state = s->state,
                         .o = s->o + first * DV};
}

static void run(sequence *s, ts_op_id op, bool kda, int64_t chunk)
{
    ts_gdn_args a = args(s, kda, chunk, 0, s->T);
    ts_ref32.op(op, &a);
}

static double norm(const float *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

/* Runs op piece by piece, each piece from the state that the one before left, and adds up how far o and state can
 * be from the exact recurrence. Column j of the state has the error e' = (I - beta k k^T) exp(g) e + what the piece
 * adds; with gates <= 0 and beta |k|^2 <= 2 that matrix never lengthens e, so the 2-norms of what pieces add are
 * summed. An output reads the state through q: it gets |q| times the error of before its piece, and the piece's
 * own. */
static void run_bounded(sequence *s, ts_op_id op, bool kda, int64_t chunk, double *of_o, double of_state[DV])
{
    double own[MOST_T * DV], state[DK * DV];
    float before[DK * DV];
    memset(of_state, 0, DV * sizeof *of_state);
    for (int64_t t = 0, n; t < s->T; t += n) {
        n = chunk - t % chunk < s->T - t ? chunk - t % chunk : s->T - t;
        ts_gdn_args a = args(s, kda, chunk, t, n);
        memcpy(before, s->state, sizeof before);
        assert_int_equal(ts_bound(op, &a, before, "o", own, NULL), TS_OK);
        assert_int_equal(ts_bound(op, &a, before, "state", state, NULL), TS_OK);
        ts_ref32.op(op, &a);
        for (int64_t i = 0; i < n * DV; i++)
            of_o[t * DV + i] = own[i] + 1.0001 * norm(s->q + (t + i / DV) * DK, DK) * of_state[i % DV];
        for (int64_t j = 0; j < DV; j++) {
            double added = 0;
            for (int64_t i = 0; i < DK; i++)
                added += state[i * DV + j] * state[i * DV + j];
            of_state[j] += sqrt(added) * 1.0001;
        }
    }
}

static void assert_near(const sequence *a, const sequence *b, const double *o1, const double *o2, const double *s1,
                        const double *s2)
{
    for (int64_t i = 0; i < a->T * DV; i++) {
        assert_true(isfinite(a->o[i]) && isfinite(b->o[i]));
        if (!(fabs((double)a->o[i] - (double)b->o[i]) <= o1[i] + o2[i]))
            fail_msg("o of token %lld: %g against %g, bound %g", (long long)(i / DV), (double)a->o[i],
                     (double)b->o[i], o1[i] + o2[i]);
    }
    for (int64_t i = 0; i < DK * DV; i++) {
        assert_true(isfinite(a->state[i]) && isfinite(b->state[i]));
        assert_true(fabs((double)a->state[i] - (double)b->state[i]) <= s1[i % DV] + s2[i % DV]);
    }
}

static const double gates[] = {0, -1e-4, -1e-2, -1, -5, -20, -88, -120};
static const int64_t lengths[] = {1, 2, 15, 16, 17, 63, 64, 65, 127, 130, 300};

/* Step against chunk, over all gates and lengths. */
static void grid(bool kda, ts_op_id step_op, ts_op_id chunk_op, int64_t chunk)
{
    static sequence step, other;
    static double o1[MOST_T * DV], o2[MOST_T * DV];
    double s1[DV], s2[DV];
    for (size_t g = 0; g < sizeof gates / sizeof *gates; g++)
        for (size_t t = 0; t < sizeof lengths / sizeof *lengths; t++) {
            make(&step, lengths[t], gates[g], kda, 7 + g);
            other = step;
            run_bounded(&step, step_op, kda, 1, o1, s1);
            run_bounded(&other, chunk_op, kda, chunk, o2, s2);
            assert_near(&step, &other, o1, o2, s1, s2);
        }
}

static void gdn_chunks_are_near_the_step(void **state)
{
    (void)state;
    grid(false, TS_OP_GDN_STEP, TS_OP_GDN_CHUNK, 64);
    grid(false, TS_OP_GDN_STEP, TS_OP_GDN_CHUNK, 16);
}

static void kda_chunks_are_near_the_step(void **state)
{
    (void)state;
    grid(true, TS_OP_KDA_STEP, TS_OP_KDA_CHUNK, 64);
    grid(true, TS_OP_KDA_STEP, TS_OP_KDA_CHUNK_EXP2, 64);
    grid(true, TS_OP_KDA_STEP, TS_OP_KDA_CHUNK, 8);
}

static void kda_with_one_gate_is_gdn(void **state)
{
    (void)state;
    static sequence gdn, kda;
    for (size_t g = 0; g < sizeof gates / sizeof *gates; g++) {
        make(&gdn, 33, gates[g], false, 3);
        kda = gdn;
        run(&gdn, TS_OP_GDN_STEP, false, 0);
        run(&kda, TS_OP_KDA_STEP, true, 0);
        assert_memory_equal(gdn.o, kda.o, 33 * DV * sizeof *gdn.o);
        assert_memory_equal(gdn.state, kda.state, sizeof gdn.state);
    }
}

static void a_chunk_of_64_is_chunk64(void **state)
{
    (void)state;
    static sequence a, b;
    make(&a, 150, -0.3, false, 5);
    b = a;
    run(&a, TS_OP_GDN_CHUNK, false, 64);
    run(&b, TS_OP_GDN_CHUNK64, false, 0);
    assert_memory_equal(a.o, b.o, 150 * DV * sizeof *a.o);
    assert_memory_equal(a.state, b.state, sizeof a.state);
}

/* A sequence cut where chunks end gives the same bits: chunks are as long as they were asked to be. */
static void cuts_between_chunks(ts_op_id op, bool kda, int64_t chunk)
{
    static sequence whole, parts;
    make(&whole, 150, -0.3, kda, 19);
    parts = whole;
    run(&whole, op, kda, chunk);
    for (int64_t t = 0; t < 150; t += chunk) {
        ts_gdn_args a = args(&parts, kda, chunk, t, 150 - t < chunk ? 150 - t : chunk);
        ts_ref32.op(op, &a);
    }
    assert_memory_equal(whole.o, parts.o, 150 * DV * sizeof *whole.o);
    assert_memory_equal(whole.state, parts.state, sizeof whole.state);
}

static void chunks_have_their_length(void **state)
{
    (void)state;
    const int64_t chunk[] = {1, 8, 32, 128};
    for (size_t i = 0; i < sizeof chunk / sizeof *chunk; i++) {
        cuts_between_chunks(TS_OP_GDN_CHUNK, false, chunk[i]);
        cuts_between_chunks(TS_OP_KDA_CHUNK, true, chunk[i]);
    }
}

/* A state after each token, kept as copies, is the state of as many single tokens. */
static void snapshots_are_states(void **state)
{
    (void)state;
    static sequence all, one;
    make(&all, 9, -0.5, true, 11);
    one = all;
    for (int64_t n = 1; n <= 9; n++) {
        sequence part = all;
        part.T = n;
        run(&part, TS_OP_KDA_STEP, true, 0);
        ts_gdn_args a = args(&one, true, 0, n - 1, 1);
        ts_ref32.op(TS_OP_KDA_STEP, &a);
        assert_memory_equal(part.state, one.state, sizeof one.state);
    }
}

/* Rows kept and committed later, as many as are wanted: the chunk form over those rows. */
static void late_rows_are_a_chunk(void **state)
{
    (void)state;
    enum { T = 12 };
    static sequence s, chunk;
    static float u[T * DV], w[T * DK], G[T];
    for (int64_t kept = 0; kept <= T; kept++) {
        make(&s, T, -0.7, false, 13);
        chunk = s;
        ts_gdn_lazy_rows_args r = {T, 1, 1, DK, DV, s.k, s.v, s.flat, s.beta, u, w, G};
        ts_ref32.op(TS_OP_GDN_LAZY_ROWS, &r);
        ts_gdn_lazy_commit_args c = {T, 1, 1, DK, DV, kept, s.k, u, w, G, s.state};
        ts_ref32.op(TS_OP_GDN_LAZY_COMMIT, &c);
        chunk.T = kept;
        if (kept)
            run(&chunk, TS_OP_GDN_CHUNK, false, 64);
        assert_memory_equal(s.state, chunk.state, sizeof s.state);
    }
}

/* S = (I - beta k k^T) diag(exp(g)) S + beta k v^T as dense matrices, o = S^T q: [DK][DK] [DK][DV]. */
static void dense_step(const sequence *s, int64_t t, long double S[DK][DV], long double o[DV])
{
    long double M[DK][DK], next[DK][DV];
    const float *k = s->k + t * DK, *g = s->g + t * DK;
    for (int i = 0; i < DK; i++)
        for (int j = 0; j < DK; j++)
            M[i][j] = ((i == j) - (long double)s->beta[t] * (long double)k[i] * (long double)k[j]) *
                      expl((long double)g[j]);
    for (int i = 0; i < DK; i++)
        for (int j = 0; j < DV; j++) {
            next[i][j] = (long double)s->beta[t] * (long double)k[i] * (long double)s->v[t * DV + j];
            for (int x = 0; x < DK; x++)
                next[i][j] += M[i][x] * S[x][j];
        }
    memcpy(S, next, sizeof next);
    for (int j = 0; j < DV; j++) {
        o[j] = 0;
        for (int i = 0; i < DK; i++)
            o[j] += (long double)s->q[t * DK + i] * S[i][j];
    }
}

static double *widen(const float *x, int64_t n)
{
    double *y = malloc((size_t)n * sizeof *y);
    assert_non_null(y);
    for (int64_t i = 0; i < n; i++)
        y[i] = (double)x[i];
    return y;
}

/* ref64 against the dense matrices: their outputs, and what is left in the state. Every term of the bound of an f32
 * form is a multiple of its unit u = 2^-24, or smaller by further ones; those of double are 2^-29 of it. exp is
 * within an ulp there, too, but its bound in f32 may be as little as half an ulp: twice that. What long double adds
 * is below 2^-10 of it all. */
static void dense(bool kda, ts_op_id op, int64_t chunk, double gate)
{
    static sequence s, narrow;
    static double of_o[130 * DV];
    const double share = 0x1p-28 * (1 + 0x1p-9);
    double of_state[DV];
    long double S[DK][DV], o[DV];
    make(&s, 130, gate, kda, 17);
    narrow = s;
    run_bounded(&narrow, op, kda, chunk ? chunk : 1, of_o, of_state);
    double *x[] = {widen(s.q, 130 * DK), widen(s.k, 130 * DK),    widen(s.v, 130 * DV), widen(s.g, 130 * DK),
                   widen(s.beta, 130),   widen(s.state, DK * DV), widen(s.o, 130 * DV), widen(s.flat, 130)};
    ts_gdn_args a = args(&s, kda, chunk, 0, 130);
    a.q = ts_f64(x[0]);
    a.k = ts_f64(x[1]);
    a.v = ts_f64(x[2]);
    a.g = ts_f64(kda ? x[3] : x[7]);
    a.beta = ts_f64(x[4]);
    a.state = ts_f64(x[5]);
    a.o = ts_f64(x[6]);
    ts_ref64.op(op, &a);
    for (int i = 0; i < DK * DV; i++)
        S[i / DV][i % DV] = (long double)s.state[i];
    for (int64_t t = 0; t < 130; t++) {
        dense_step(&s, t, S, o);
        for (int64_t i = t * DV; i < (t + 1) * DV; i++)
            assert_true(fabsl(o[i % DV] - (long double)x[6][i]) <= share * of_o[i]);
    }
    for (int i = 0; i < DK * DV; i++)
        assert_true(fabsl(S[i / DV][i % DV] - (long double)x[5][i]) <= share * of_state[i % DV]);
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        free(x[i]);
}

static void dense_matrices_agree(void **state)
{
    (void)state;
    const double some[] = {0, -1e-2, -1, -20};
    for (size_t g = 0; g < sizeof some / sizeof *some; g++) {
        dense(false, TS_OP_GDN_STEP, 0, some[g]);
        dense(false, TS_OP_GDN_CHUNK, 32, some[g]);
        dense(true, TS_OP_KDA_STEP, 0, some[g]);
        dense(true, TS_OP_KDA_CHUNK, 32, some[g]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kda_with_one_gate_is_gdn),     cmocka_unit_test(a_chunk_of_64_is_chunk64),
        cmocka_unit_test(gdn_chunks_are_near_the_step), cmocka_unit_test(kda_chunks_are_near_the_step),
        cmocka_unit_test(snapshots_are_states),         cmocka_unit_test(late_rows_are_a_chunk),
        cmocka_unit_test(dense_matrices_agree),         cmocka_unit_test(chunks_have_their_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
