/* Verification is lossless: the exact law of the emitted tokens, for every verifier, is the target's. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "decode/tree.h"
#include "draw.h"
#include "format/json.h"

static tree t;
static law l;

static double uniform(uint64_t seed, uint64_t i)
{
    return ts_uniform(seed, i, TS_DRAW_INPUT);
}

typedef enum { GENERIC, ZEROS, EQUAL, DISJOINT, ONE_HOT_Q, ONE_HOT_P, NEAR_EQUAL, KINDS } kind;
static const char *const kind_name[KINDS] = {
    "generic", "zeros", "equal", "disjoint", "one-hot q", "one-hot p", "equal but for roundings"};

static void normalise(double *x, int V)
{
    double total = 0.0;
    for (int i = 0; i < V; i++)
        total += x[i];
    for (int i = 0; i < V; i++)
        x[i] /= total;
}

/* Before normalising: zeros in ZEROS, even ids to p and odd ones to q in DISJOINT, one id in the one-hot kinds. */
static double weight(kind what, bool of_q, int x, int V, uint64_t seed)
{
    double w = 0.02 + uniform(seed, (uint64_t)x);
    int hot = (int)(uniform(seed, 90) * V);
    if (what == ZEROS && x != hot && uniform(seed, (uint64_t)x + 50) < 0.4)
        return 0.0;
    if (what == DISJOINT && (x % 2 == 1) != of_q)
        return 0.0;
    if ((what == ONE_HOT_Q && of_q) || (what == ONE_HOT_P && !of_q))
        return x == hot ? 1.0 : 0.0;
    return w;
}

static void grow(int V, int k, kind what, uint64_t seed)
{
    memset(&t, 0, sizeof t);
    t.V = V;
    t.k = k;
    for (int i = 0; i < NODES; i++) {
        uint64_t here = seed * 1000 + (uint64_t)i;
        for (int x = 0; x < V; x++) {
            t.p[i][x] = weight(what, false, x, V, here);
            t.q[i][x] = what == EQUAL || what == NEAR_EQUAL ? t.p[i][x] : weight(what, true, x, V, here + 500000);
        }
        normalise(t.p[i], V);
        normalise(t.q[i], V);
        for (int x = 0; what == NEAR_EQUAL && x < V; x++)
            t.q[i][x] *= 1.0 + (x % 2 ? 0x1p-52 : -0x1p-52);
        t.draft[i] = (int32_t)(uniform(here, 77) * V);
    }
    tree_finish(&t);
}

/* The target's joint law of k + 1 tokens. */
static void target_law(double *joint)
{
    memset(joint, 0, JOINT * sizeof *joint);
    extend(&t, NULL, 0, 1.0, joint);
}

static double check_tree(ts_verifier which, const char *what)
{
    double want[JOINT], worst = 0.0;
    target_law(want);
    law_of_tree(&t, which, &l);
    for (int i = 0; i < power(t.V, t.k + 1); i++)
        worst = fmax(worst, fabs(l.joint[i] - want[i]));
    if (!(worst < 1e-15))
        fail_msg("%s, %s, V %d, k %d: off by %g", ts_verifier_name(which), what, t.V, t.k, worst);
    return worst;
}

static void test_joint_law(void **state)
{
    (void)state;
    for (int which = TS_VERIFY_RATIO; which < TS_VERIFIERS; which++)
        for (int what = 0; what < KINDS; what++) {
            double worst = 0.0;
            for (int V = 2; V <= MAX_V; V++)
                for (int k = 1; k <= MAX_K; k++) {
                    grow(V, k, (kind)what, (uint64_t)(100 * V + 10 * k + what));
                    worst = fmax(worst, check_tree((ts_verifier)which, kind_name[what]));
                }
            print_message("  %s, %s: %.2g\n", ts_verifier_name((ts_verifier)which), kind_name[what], worst);
        }
}

/* k = 0: plain decoding. */
static void test_no_proposals(void **state)
{
    (void)state;
    for (int which = TS_VERIFY_RATIO; which < TS_VERIFIERS; which++) {
        grow(5, 0, GENERIC, 7);
        check_tree((ts_verifier)which, "no proposals");
    }
}

/* Drafts drawn from another law than the one they are judged by bend the law: the suite can see that. */
static void test_a_wrong_law_is_seen(void **state)
{
    (void)state;
    double want[JOINT], worst = 0.0;
    grow(4, 2, GENERIC, 3);
    target_law(want);
    for (int i = 0; i < NODES; i++)
        t.q_law[i] = t.p_law[i]; /* drawn from p */
    memset(&l, 0, sizeof l);
    static tree judged;
    judged = t;
    for (int i = 0; i < NODES; i++)
        judged.q_law[i] = law_of(t.q[i], t.V, t.ids[1][i], t.weights[1][i]);
    for (int32_t code = 0; code < 16; code++) {
        int32_t path[2] = {code / 4, code % 4};
        double reach = ts_probability(&t.p_law[0], path[0]) * ts_probability(&t.p_law[node(&t, path, 1)], path[1]);
        add_path(&judged, TS_VERIFY_RATIO, path, reach, &l);
    }
    for (int x = 0; x < 4; x++) {
        double first = l.emitted[0][x];
        for (int i = 0; i < 4; i++)
            first += l.emitted[1][4 * x + i];
        for (int i = 0; i < 16; i++)
            first += l.emitted[2][16 * x + i];
        worst = fmax(worst, fabs(first - ts_probability(&t.p_law[0], x)));
    }
    assert_true(worst > 0.01);
}

static double fraction(const cJSON *text)
{
    char *end;
    assert_true(cJSON_IsString(text));
    double a = strtod(text->valuestring, &end);
    assert_int_equal(*end, '/');
    return a / strtod(end + 1, NULL);
}

/* "0,3,1" to tokens. */
static int prefix_of(const char *key, int32_t *tokens)
{
    int n = 0;
    for (const char *p = key; *p; p += *p == ',')
        tokens[n++] = (int32_t)strtol(p, (char **)(uintptr_t)&p, 10);
    return n;
}

static void read_laws(const cJSON *from, double to[NODES][MAX_V])
{
    const cJSON *row, *x;
    cJSON_ArrayForEach (row, from) {
        int32_t prefix[MAX_K + 1];
        int n = prefix_of(row->string, prefix), i = 0, at = node(&t, prefix, n);
        cJSON_ArrayForEach (x, row)
            to[at][i++] = fraction(x);
    }
}

static void read_tree(const cJSON *c)
{
    memset(&t, 0, sizeof t);
    t.V = cJSON_GetObjectItem(c, "V")->valueint;
    t.k = cJSON_GetObjectItem(c, "k")->valueint;
    read_laws(cJSON_GetObjectItem(c, "p"), t.p);
    read_laws(cJSON_GetObjectItem(c, "q"), t.q);
    const cJSON *d;
    cJSON_ArrayForEach (d, cJSON_GetObjectItem(c, "draft")) {
        int32_t prefix[MAX_K];
        int n = prefix_of(d->string, prefix);
        t.draft[node(&t, prefix, n)] = d->valueint;
    }
    tree_finish(&t);
}

static void near(const char *name, const char *what, double got, double want)
{
    if (!(fabs(got - want) < 1e-15 * fmax(1.0, fabs(want))))
        fail_msg("%s, %s: %.17g, want %.17g", name, what, got, want);
}

/* Every sequence of the golden and no other, the histogram of a, and the means. */
static void compare_law(const cJSON *c)
{
    const char *name = cJSON_GetObjectItem(c, "name")->valuestring;
    double hist[MAX_K + 1] = {0}, mean = 0.0;
    for (int n = 0; n <= t.k; n++)
        for (int code = 0; code < power(t.V, n + 1); code++) {
            hist[n] += l.emitted[n][code];
            mean += n * l.emitted[n][code];
        }
    for (int n = 0; n <= t.k; n++)
        near(name, "accept_hist", hist[n], fraction(cJSON_GetArrayItem(cJSON_GetObjectItem(c, "accept_hist"), n)));
    near(name, "mean_accepted", mean, fraction(cJSON_GetObjectItem(c, "mean_accepted")));
    near(name, "mean_emitted", mean + 1.0, fraction(cJSON_GetObjectItem(c, "mean_emitted")));
    const cJSON *e;
    cJSON_ArrayForEach (e, cJSON_GetObjectItem(c, "emitted")) {
        int32_t tokens[MAX_K + 1];
        int n = prefix_of(e->string, tokens), code = 0;
        for (int i = 0; i < n; i++)
            code = code * t.V + tokens[i];
        near(name, e->string, l.emitted[n - 1][code], fraction(e));
        l.emitted[n - 1][code] = 0.0;
    }
    for (int n = 0; n <= t.k; n++)
        for (int code = 0; code < power(t.V, n + 1); code++)
            near(name, "a sequence that the golden has not", l.emitted[n][code], 0.0);
}

static void test_golden(void **state)
{
    (void)state;
    cJSON *root = NULL, *c;
    int cases = 0;
    assert_int_equal(ts_json_load("golden/external/accept-law.json", &root, NULL), TS_OK);
    cJSON_ArrayForEach (c, cJSON_GetObjectItem(root, "cases")) {
        bool ratio = strcmp(cJSON_GetObjectItem(c, "rule")->valuestring, "ratio") == 0;
        read_tree(c);
        law_of_tree(&t, ratio ? TS_VERIFY_RATIO : TS_VERIFY_POINT, &l);
        compare_law(c);
        check_tree(TS_VERIFY_MATCH, "golden");
        if (ratio)
            check_tree(TS_VERIFY_BLOCK, "golden");
        cases++;
    }
    assert_int_equal(cases, 18);
    cJSON_Delete(root);
}

/* Block verification keeps no fewer on average than the ratio test, and on some tree more. */
static void test_block_keeps_more(void **state)
{
    (void)state;
    double most = 0.0;
    for (uint64_t seed = 0; seed < 10; seed++) {
        double mean[2] = {0};
        grow(4, 3, GENERIC, seed);
        for (int b = 0; b < 2; b++) {
            law_of_tree(&t, b ? TS_VERIFY_BLOCK : TS_VERIFY_RATIO, &l);
            for (int n = 1; n <= 3; n++)
                for (int code = 0; code < power(4, n + 1); code++)
                    mean[b] += n * l.emitted[n][code];
        }
        assert_true(mean[1] > mean[0] - 1e-14);
        most = fmax(most, mean[1] - mean[0]);
    }
    print_message("  up to %.3f more\n", most);
    assert_true(most > 0.01);
}

/* u = (m + 1/2) / M for the draft, the acceptance and the final draw, k = 1. A grid counts an interval with an
 * error of at most 1/M; of draft x, kept or not, and final y: sum_x |count_x/M - q_x| + 2/M <= (V + 2) / M. */
static void test_grid(void **state)
{
    (void)state;
    enum { M = 96, V = 4 };
    for (uint64_t seed = 0; seed < 3; seed++) {
        grow(V, 1, seed == 2 ? ZEROS : GENERIC, 40 + seed);
        int seen[V] = {0};
        for (int i = 0; i < M * M * M; i++) {
            double draft_u = (i % M + 0.5) / M, u = (i / M % M + 0.5) / M, final_u = (i / (M * M) + 0.5) / M;
            int32_t d = ts_draw(&t.q_law[0], draft_u).id;
            ts_round_verdict v = judge_path(&t, TS_VERIFY_RATIO, &d, &u, final_u);
            seen[v.a ? d : v.final]++;
        }
        for (int x = 0; x < V; x++)
            assert_true(fabs((double)seen[x] / (M * M * M) - ts_probability(&t.p_law[0], x)) <= (V + 2.0) / M);
    }
}

/* Only rounding makes a rejection without a residual: the final token is then p's. u q(0) = p(0) to the bit here.
 */
static void test_empty_residual(void **state)
{
    (void)state;
    memset(&t, 0, sizeof t);
    t.V = 3;
    t.k = 1;
    for (int x = 0; x < 3; x++) {
        t.p[0][x] = 1.0;
        t.q[0][x] = x == 0 ? 1.0 + 0x1p-52 : 1.0;
        t.p[1][x] = 1.0;
    }
    tree_finish(&t);
    int32_t first = 0;
    ts_round_verdict low = judge_path(&t, TS_VERIFY_RATIO, &first, &LAST_U, 0.1),
                     high = judge_path(&t, TS_VERIFY_RATIO, &first, &LAST_U, 0.5);
    assert_true(low.a == 0 && low.final == 0 && high.a == 0 && high.final == 1);
}

/* u = 0 keeps nothing that the target excludes. */
static void test_zero_never_keeps_the_impossible(void **state)
{
    (void)state;
    grow(2, 1, DISJOINT, 1); /* p is all on 0, q on 1 */
    int32_t draft = 1;
    double zero = 0.0;
    for (int which = TS_VERIFY_RATIO; which < TS_VERIFIERS; which++) {
        ts_round_verdict v = judge_path(&t, (ts_verifier)which, &draft, &zero, 0.0);
        assert_true(v.a == 0 && v.final == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_joint_law),        cmocka_unit_test(test_no_proposals),
        cmocka_unit_test(test_golden),           cmocka_unit_test(test_a_wrong_law_is_seen),
        cmocka_unit_test(test_block_keeps_more), cmocka_unit_test(test_grid),
        cmocka_unit_test(test_empty_residual),   cmocka_unit_test(test_zero_never_keeps_the_impossible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
