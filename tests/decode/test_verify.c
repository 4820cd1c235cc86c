/* The verifiers with real random numbers: which counters they use, the law of whole streams, replay, errors. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode/toy.h"
#include "sample.h"
#include "stats/tails.h"

/* A counter that was asked for, by what asked. */
typedef struct {
    uint64_t position;
    uint32_t purpose;
} counter;

typedef struct {
    uint64_t seed;
    counter seen[4096];
    int n;
} logged;

static ts_status draw_logged(void *ctx, uint64_t position, uint32_t purpose, double *u, ts_error *err)
{
    logged *log = ctx;
    (void)err;
    if (log->n < 4096)
        log->seen[log->n++] = (counter){position, purpose};
    *u = ts_uniform(log->seed, position, purpose);
    return TS_OK;
}

/* Chi-square of the first two tokens after a fixed anchor against the exact joint law; every trial has positions of
 * its own under one seed. */
static double chi2_tail_of(const toy *m, ts_verifier which, uint64_t seed)
{
    enum { N = 200000 };
    static int seen[V][V];
    ts_uniforms from = ts_uniforms_philox(&seed);
    memset(seen, 0, sizeof seen);
    for (uint64_t t = 0; t < N; t++) {
        int32_t ids[3] = {0};
        stream(m, which, &from, 16 * t, K, ids, 2);
        seen[ids[1]][ids[2]]++;
    }
    double chi2 = 0.0;
    int cells = 0;
    for (int x = 0; x < V; x++)
        for (int y = 0; y < V; y++) {
            double want = N * ts_probability(&m->p[0], x) * ts_probability(&m->p[x], y);
            if (want == 0.0)
                assert_int_equal(seen[x][y], 0);
            else
                chi2 += (seen[x][y] - want) * (seen[x][y] - want) / want;
            cells += want > 0.0;
        }
    return ts_chi2_tail(chi2, cells - 1);
}

/* alpha = 1e-6 for each of the 14 tests; seeds are fixed, so that a commit always passes or always fails. */
static void test_chi_square(void **state)
{
    (void)state;
    static const struct {
        float spread, agree, temperature, top_p;
        int64_t top_k;
        ts_verifier which;
    } pair[] = {
        {2, 0.5f, 1, 1, 0, TS_VERIFY_RATIO},       {2, 1, 1, 1, 0, TS_VERIFY_RATIO},
        {4, 0, 1, 1, 0, TS_VERIFY_RATIO},          {1, 0.3f, 0.6f, 1, 0, TS_VERIFY_RATIO},
        {3, 0.7f, 0.6f, 0.9f, 0, TS_VERIFY_RATIO}, {2, 0.5f, 1, 1, 3, TS_VERIFY_RATIO},
        {2, 0.2f, 2, 0.95f, 5, TS_VERIFY_RATIO},   {0, 0, 1, 1, 0, TS_VERIFY_RATIO},
        {2, 0.5f, 1, 1, 0, TS_VERIFY_POINT},       {3, 0, 1, 0.9f, 4, TS_VERIFY_POINT},
        {2, 0.5f, 1, 1, 0, TS_VERIFY_BLOCK},       {3, 0.2f, 1, 0.9f, 4, TS_VERIFY_BLOCK},
        {2, 0.5f, 1, 1, 0, TS_VERIFY_MATCH},       {3, 0.2f, 0.6f, 0.9f, 4, TS_VERIFY_MATCH},
    };
    for (uint64_t i = 0; i < sizeof pair / sizeof *pair; i++) {
        static toy m;
        build(&m, 10 + i, pair[i].spread, pair[i].agree, warm(pair[i].temperature, pair[i].top_k, pair[i].top_p));
        double tail = chi2_tail_of(&m, pair[i].which, 1000 + i);
        print_message("  pair %d, %s: p = %.3g\n", (int)i, ts_verifier_name(pair[i].which), tail);
        assert_true(tail > 1e-6);
        release(&m);
    }
}

/* The draft's position and purpose, then accept and residual of the tested ones, then at most the bonus. No number
 * is taken twice for two decisions. */
static void test_counters(void **state)
{
    (void)state;
    static toy m;
    static logged log;
    build(&m, 3, 2, 0.6f, warm(1, 0, 1));
    int lengths[4] = {0};
    for (uint64_t t = 0; t < 200; t++) {
        int32_t draft[3];
        log = (logged){.seed = 5};
        ts_uniforms from = {draw_logged, &log};
        uint64_t n = 10 * t;
        ts_round_verdict v = round_of(&m, TS_VERIFY_RATIO, &from, n, 0, 3, draft);
        int at = 0;
        for (uint64_t i = 1; i <= 3; i++, at++)
            assert_true(log.seen[at].position == n + i && log.seen[at].purpose == TS_DRAW_DRAFT);
        for (uint64_t i = 1; i <= (uint64_t)v.tested; i++, at += 2) {
            assert_true(log.seen[at].position == n + i && log.seen[at].purpose == TS_DRAW_ACCEPT);
            assert_true(log.seen[at + 1].position == n + i && log.seen[at + 1].purpose == TS_DRAW_RESIDUAL);
            assert_true(v.u[i - 1] == ts_uniform(5, n + i, TS_DRAW_ACCEPT));
        }
        uint64_t last = n + (uint64_t)v.a + 1;
        assert_true(v.final_u == ts_uniform(5, last, v.a == 3 ? TS_DRAW_SAMPLE : TS_DRAW_RESIDUAL));
        assert_int_equal(log.n, at + (v.a == 3));
        assert_int_equal(v.tested, v.a < 3 ? v.a + 1 : 3);
        lengths[v.a]++;
    }
    for (int a = 0; a < 4; a++)
        assert_true(lengths[a] > 0);
    release(&m);
}

/* Every counter of block is distinct as well, and all k are tested. */
static void test_counters_of_block(void **state)
{
    (void)state;
    static toy m;
    static logged log;
    build(&m, 3, 2, 0.6f, warm(1, 0, 1));
    for (uint64_t t = 0; t < 100; t++) {
        int32_t draft[3];
        log = (logged){.seed = 6};
        ts_uniforms from = {draw_logged, &log};
        ts_round_verdict v = round_of(&m, TS_VERIFY_BLOCK, &from, 10 * t, 0, 3, draft);
        assert_true(v.tested == 3 && log.n == 9 + (v.a == 3));
        for (int i = 0; i < log.n; i++)
            for (int j = 0; j < i; j++)
                assert_false(log.seen[i].position == log.seen[j].position &&
                             log.seen[i].purpose == log.seen[j].purpose);
    }
    release(&m);
}

/* Correlation of a with the rank of the final draw's number: 0 within 5 / sqrt(N). */
static void test_independence(void **state)
{
    (void)state;
    enum { N = 20000 };
    static toy m;
    build(&m, 4, 2, 0.6f, warm(1, 0, 1));
    uint64_t seed = 31;
    ts_uniforms from = ts_uniforms_philox(&seed);
    double sa = 0, su = 0, saa = 0, suu = 0, sau = 0;
    for (uint64_t t = 0; t < N; t++) {
        int32_t draft[K];
        ts_round_verdict v = round_of(&m, TS_VERIFY_RATIO, &from, 8 * t, 0, K, draft);
        double a = v.a, u = v.final_u;
        sa += a;
        su += u;
        saa += a * a;
        suu += u * u;
        sau += a * u;
    }
    double r = (N * sau - sa * su) / sqrt((N * saa - sa * sa) * (N * suu - su * su));
    print_message("  correlation %.4f\n", r);
    assert_true(fabs(r) < 5.0 / sqrt((double)N));
    release(&m);
}

/* Sample-match verification emits what plain sampling does, whatever the drafts and k, penalties included. */
static void test_match_is_plain_sampling(void **state)
{
    (void)state;
    static toy m;
    ts_sampling s = warm(0.8f, 5, 0.95f);
    s.repetition = 1.3f;
    s.window = 3;
    build(&m, 8, 3, 0.8f, s);
    for (uint64_t n = 1; n < 300; n += 7) {
        int32_t ids[32] = {0}, draft[4];
        int k = (int)(n % 5), have = 1;
        s.seed = n;
        ts_uniforms from = ts_uniforms_philox(&s.seed);
        while (have < 20) {
            float rows[5][V];
            ts_distribution p[5];
            ts_error err = {0};
            ts_round_verdict v;
            for (int i = 0; i < k; i++)
                draft[i] = m.slot[i ? draft[i - 1] : ids[have - 1]][i % SLOTS];
            for (int j = 0; j <= k; j++)
                memcpy(rows[j], m.logits[j ? draft[j - 1] : ids[have - 1]], sizeof rows[j]);
            must(ts_verify_rows(&s, rows[0], V, ids, (size_t)have, draft, k, p, &err), &err);
            ts_verify_input in = {.n = (uint64_t)have - 1, .k = k, .draft = draft, .p = p, .uniforms = &from};
            must(ts_verify_match(&in, &v, &err), &err);
            memcpy(ids + have, draft, (size_t)v.a * sizeof *ids);
            have += v.a;
            ids[have++] = v.final;
            for (int j = 0; j <= k; j++)
                ts_distribution_free(&p[j]);
        }
        for (int i = 1; i < 20; i++) {
            ts_sample how = {0};
            ts_error err = {0};
            must(ts_sample_token(&s, m.logits[ids[i - 1]], V, ids, (size_t)i, (uint64_t)i, &how, &err), &err);
            assert_int_equal(how.token, ids[i]);
        }
    }
    release(&m);
}

/* T = 0: all verifiers go the way of plain greedy decoding, with rows of one entry. */
static void test_greedy_rows(void **state)
{
    (void)state;
    static toy m;
    build(&m, 9, 3, 0.8f, ts_sampling_default());
    uint64_t seed = 1;
    ts_uniforms from = ts_uniforms_philox(&seed);
    for (int which = 0; which < TS_VERIFIERS; which++)
        for (int k = 0; k <= 4; k++) {
            int32_t ids[40] = {2};
            stream(&m, (ts_verifier)which, &from, 5, k, ids, 39);
            for (int i = 1; i < 40; i++)
                assert_int_equal(ids[i], m.p[ids[i - 1]].id[0]);
        }
    release(&m);
}

static void test_greedy_table(void **state)
{
    (void)state;
    static const struct {
        int32_t draft[3];
        int a;
        int32_t final;
    } cases[] = {
        {{1, 2, 0}, 3, 3}, {{1, 2, 1}, 2, 0}, {{1, 0, 0}, 1, 2}, {{2, 2, 0}, 0, 1}, {{3, 1, 2}, 0, 1},
    };
    const float rows[4][4] = {{0, 5, 5, 1}, {0, 1, 3.5f, 3}, {0, -1, -2, -0.25f}, {0, 0, 0, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ts_sampling s = ts_sampling_default();
        ts_distribution p[4];
        ts_error err = {0};
        ts_round_verdict v;
        must(ts_verify_rows(&s, rows[0], 4, NULL, 0, cases[i].draft, 3, p, &err), &err);
        ts_verify_input in = {.n = 9, .k = 3, .draft = cases[i].draft, .p = p};
        must(ts_verify_greedy(&in, &v, &err), &err);
        assert_true(v.a == cases[i].a && v.final == cases[i].final && v.tested == 0 && !v.drawn);
        static const double margin[] = {0, 0.5, 0.25, 2};
        double least = (double)INFINITY;
        for (int j = 0; j <= v.a; j++)
            least = fmin(least, margin[j]);
        assert_true(v.min_margin == least && isinf(v.min_slack));
        for (int j = 0; j < 4; j++)
            ts_distribution_free(&p[j]);
    }
}

/* A record's numbers give the record's outcome, and what is not in it is an error. */
static void test_replay(void **state)
{
    (void)state;
    static toy m;
    build(&m, 12, 2, 0.6f, warm(1, 0, 1));
    uint64_t seed = 99;
    ts_uniforms from = ts_uniforms_philox(&seed);
    for (int which = TS_VERIFY_RATIO; which < TS_VERIFIERS; which++)
        for (uint64_t n = 0; n < 600; n += 6) {
            int32_t draft[3];
            ts_distribution p[4], q[3];
            ts_error err = {0};
            ts_round_verdict v = round_of(&m, (ts_verifier)which, &from, n, 1, 3, draft), again;
            for (int i = 0; i <= 3; i++)
                p[i] = m.p[i ? draft[i - 1] : 1];
            for (int i = 0; i < 3; i++)
                q[i] = m.q[i ? draft[i - 1] : 1];
            ts_recorded_uniforms record = {n + 1, v.u, v.tested, &v.final_u};
            ts_uniforms recorded = ts_uniforms_recorded(&record);
            ts_verify_input in = {n, 3, draft, p, q, &recorded};
            must(ts_verify_round((ts_verifier)which, &in, &again, &err), &err);
            assert_memory_equal(&v, &again, sizeof v);
            record.final_u = NULL;
            assert_int_equal(ts_verify_round((ts_verifier)which, &in, &again, &err) == TS_OK,
                             which == TS_VERIFY_MATCH && v.a < 3);
            record = (ts_recorded_uniforms){n + 1, v.u, 0, &v.final_u};
            assert_int_equal(ts_verify_round((ts_verifier)which, &in, &again, &err) == TS_OK,
                             which == TS_VERIFY_MATCH);
            double outside[3] = {1.0, 1.0, 1.0};
            record = (ts_recorded_uniforms){n + 1, outside, 3, &v.final_u};
            assert_int_equal(ts_verify_round((ts_verifier)which, &in, &again, &err), TS_BAD);
            assert_non_null(strstr(err.reason, "outside [0,1)"));
        }
    release(&m);
}

/* The streams of profile lse: seed 1234, the first two numbers of each, and that a verifier takes one of both
 * accept and residual for every tested draft. */
static void test_lse_streams(void **state)
{
    (void)state;
    static const double want[3][2] = {{0.90866056423553399, 0.96173039145788064},
                                      {0.951194508043817, 0.87849774315739382},
                                      {0.97763002293925283, 0.22041535334683438}};
    static const uint32_t purpose[3] = {TS_DRAW_DRAFT, TS_DRAW_ACCEPT, TS_DRAW_RESIDUAL};
    ts_lse_streams s = ts_lse_streams_of(1234);
    ts_uniforms from = ts_uniforms_lse(&s);
    for (int i = 0; i < 2; i++)
        for (int p = 0; p < 3; p++) {
            double u;
            assert_int_equal(from.draw(from.ctx, 4, purpose[p], &u, NULL), TS_OK);
            assert_true(u == want[p][i]);
        }
    static toy m;
    build(&m, 5, 2, 1, warm(1, 0, 1));
    for (uint64_t seed = 0; seed < 50; seed++) {
        int32_t draft[3];
        s = ts_lse_streams_of(seed);
        ts_lse_streams by_hand = s;
        ts_uniforms hand = ts_uniforms_lse(&by_hand);
        ts_round_verdict v = round_of(&m, TS_VERIFY_RATIO, &from, 0, 0, 3, draft);
        double u, r = 0.0;
        for (int i = 0; i < v.tested; i++) {
            hand.draw(hand.ctx, 0, TS_DRAW_ACCEPT, &u, NULL);
            assert_true(u == v.u[i]);
            hand.draw(hand.ctx, 0, TS_DRAW_RESIDUAL, &r, NULL);
        }
        if (v.a == 3)
            hand.draw(hand.ctx, 0, TS_DRAW_SAMPLE, &r, NULL);
        assert_true(r == v.final_u && by_hand.accept == s.accept && by_hand.residual == s.residual);
    }
    release(&m);
}

static void expect_bad(const ts_verify_input *in, const char *where, const char *reason)
{
    ts_round_verdict v;
    ts_error err = {0};
    assert_int_equal(ts_verify_ratio(in, &v, &err), TS_BAD);
    if (strcmp(err.tensor, where) != 0 || !strstr(err.reason, reason))
        fail_msg("%s: %s; expected %s: %s", err.tensor, err.reason, where, reason);
}

static void test_errors(void **state)
{
    (void)state;
    static toy m;
    build(&m, 6, 2, 0.6f, warm(1, 0, 1));
    uint64_t seed = 0;
    ts_uniforms from = ts_uniforms_philox(&seed);
    int32_t draft[1] = {m.slot[0][0]};
    ts_distribution p[2] = {m.p[0], m.p[1]}, q[1] = {m.q[0]};
    ts_verify_input good = {0, 1, draft, p, q, &from}, bad = good;
    bad.k = TS_MAX_DRAFT + 1;
    expect_bad(&bad, "k", "33 proposals");
    bad.k = -1;
    expect_bad(&bad, "k", "-1 proposals");
    draft[0] = 3;
    for (int i = 0; i < SLOTS; i++)
        m.slot[0][i] = q[0].id[i] = i < 3 ? i : 5;
    expect_bad(&good, "q", "draft 1, id 3, has probability 0 under its own law");
    draft[0] = 1;
    q[0].id[2] = 1;
    expect_bad(&good, "q", "id 1 stands twice");
    q[0].id[2] = -2;
    expect_bad(&good, "q", "id -2 is negative");
    q[0].id[2] = 2;
    double keep = q[0].weight[1];
    q[0].weight[1] = -keep;
    expect_bad(&good, "q", "weight -");
    q[0].weight[1] = (double)NAN;
    expect_bad(&good, "q", "weight nan");
    q[0].weight[1] = keep;
    q[0].total *= 1.0 + 0x1p-40;
    expect_bad(&good, "q", "the weights sum to");
    q[0].total = m.q[0].total;
    p[1].n = 0;
    expect_bad(&good, "p", "is empty");
    float nan_row[2][V] = {{0}, {0, NAN}};
    ts_distribution rows[2];
    ts_error err = {0};
    assert_int_equal(ts_verify_rows(&m.sampling, nan_row[0], V, NULL, 0, draft, 1, rows, &err), TS_BAD);
    assert_true(strstr(err.reason, "nan at id 1") && !rows[0].id && !rows[1].id);
    ts_verifier which;
    assert_int_equal(ts_verifier_of("block", &which, &err), TS_OK);
    assert_int_equal(which, TS_VERIFY_BLOCK);
    assert_int_equal(ts_verifier_of("ratios", &which, &err), TS_USAGE);
    release(&m);
}

typedef struct {
    int left; /* numbers before the source fails */
} failing;

static ts_status draw_failing(void *ctx, uint64_t position, uint32_t purpose, double *u, ts_error *err)
{
    failing *f = ctx;
    (void)position;
    (void)purpose;
    if (f->left-- == 0)
        return ts_fail(err, TS_BAD, NULL, "u", "no more numbers");
    *u = 0.0;
    return TS_OK;
}

/* A source that fails ends the round there: nothing is judged with a number that was not drawn. */
static void test_failed_draw(void **state)
{
    (void)state;
    static toy m;
    build(&m, 6, 2, 0.6f, warm(1, 0, 1));
    for (int which = TS_VERIFY_RATIO; which < TS_VERIFIERS; which++)
        for (int enough = 0; enough < 3; enough++) {
            int32_t draft[2] = {m.p[0].id[0], m.p[m.p[0].id[0]].id[0]};
            ts_distribution p[3] = {m.p[0], m.p[draft[0]], m.p[draft[1]]}, q[2] = {p[0], p[1]};
            bool two = which != TS_VERIFY_MATCH; /* numbers a draft */
            failing f = {enough};
            ts_uniforms from = {draw_failing, &f};
            ts_verify_input in = {0, 2, draft, p, q, &from};
            ts_round_verdict v;
            ts_error err = {0};
            assert_int_equal(ts_verify_round((ts_verifier)which, &in, &v, &err), TS_BAD);
            assert_string_equal(err.reason, "no more numbers");
            assert_true(!v.drawn && v.tested == (two ? enough / 2 : enough) && v.a <= v.tested);
        }
    release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_greedy_table),
        cmocka_unit_test(test_greedy_rows),
        cmocka_unit_test(test_match_is_plain_sampling),
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_counters_of_block),
        cmocka_unit_test(test_independence),
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_lse_streams),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_failed_draw),
        cmocka_unit_test(test_chi_square),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
