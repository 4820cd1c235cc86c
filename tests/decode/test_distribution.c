/* The target's laws, drafters' laws, and rounds of others in float64: golden/external/spec-*.json. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "format/json.h"
#include "format/tokenizer.h"
#include "ref.h"
#include "sample.h"
#include "verifier.h"

#define MODEL "golden/models/tiny-qwen35"

static void must(ts_status status, const ts_error *err)
{
    if (status != TS_OK)
        fail_msg("%s: %s: %s", err->file, err->tensor, err->reason);
}

/* Multiples of 1/8 in [-4,4): ties are common, and f32 and f64 hold the same numbers. */
static void fill(float *logits, double *wide, int n, uint64_t seed)
{
    for (int i = 0; i < n; i++) {
        logits[i] = (float)floor(ts_uniform(seed, (uint64_t)i, TS_DRAW_INPUT) * 64.0) / 8.0f - 4.0f;
        wide[i] = (double)logits[i];
    }
}

/* The law is the sampler's: its candidates, weights and total; and the double one has the same ids in the same
 * order, weights within the roundings of the f32 ones: of the difference times 1/T (each 2^-24 of at most 16) and
 * of exp. */
static void test_same_as_sampler(void **state)
{
    (void)state;
    enum { V = 60 };
    for (uint64_t seed = 0; seed < 200; seed++) {
        float logits[V], weights[V];
        double wide[V];
        int32_t ids[V];
        fill(logits, wide, V, seed);
        ts_sampling s = ts_sampling_default();
        s.temperature = seed % 4 ? 0.5f : 0.0f;
        s.top_k = (int64_t)(seed % 7) * 5;
        s.top_p = seed % 3 ? 0.9375f : 1.0f;
        s.min_p = seed % 5 ? 0.0f : 0.0625f;
        ts_filter64 f = {(double)s.temperature, s.top_k, (double)s.top_p, (double)s.min_p};
        ts_sample how = {.candidates = ids, .weights = weights};
        ts_distribution d, e;
        ts_error err = {0};
        must(ts_sample_token(&s, logits, V, NULL, 0, seed, &how, &err), &err);
        must(ts_distribution_of(&s, logits, V, NULL, 0, &d, &err), &err);
        must(ts_distribution_of64(&f, wide, V, &e, &err), &err);
        must(ts_distribution_check(&d, "d", &err), &err);
        assert_true(d.n == how.count && d.boundary == how.boundary && (how.greedy || d.total == how.total));
        assert_true(e.n == d.n && e.margin == d.margin);
        for (int64_t i = 0; i < d.n; i++) {
            assert_true(d.id[i] == ids[i] && d.weight[i] == (double)weights[i] && e.id[i] == ids[i]);
            assert_true(fabs(d.weight[i] - e.weight[i]) <= e.weight[i] * 34 * 0x1p-24);
        }
        ts_distribution_free(&d);
        ts_distribution_free(&e);
    }
}

/* Slots keep the order given, not that of scores or ids; T divides; at T <= 0 the first of the largest is alone. */
static void test_draft_law(void **state)
{
    (void)state;
    const float score[] = {0.5f, 2.0f, -1.0f, 2.0f};
    const double wide[] = {0.5, 2.0, -1.0, 2.0};
    const int32_t id[] = {70, 9, 33, 2};
    ts_distribution d;
    ts_error err = {0};
    must(ts_draft_distribution64(wide, id, 4, 0.5, &d, &err), &err);
    assert_true(d.n == 4 && d.id[0] == 70 && d.id[3] == 2 && d.weight[0] == exp(-3.0) && d.weight[3] == 1.0);
    assert_true(d.total == ((exp(-3.0) + 1.0) + exp(-6.0)) + 1.0);
    assert_int_equal(ts_draw(&d, 0.0).id, 70);
    assert_int_equal(ts_draw(&d, 0.9).id, 2);
    ts_distribution_free(&d);
    must(ts_draft_distribution(score, id, 4, 0.5f, &d, &err), &err);
    assert_true(d.n == 4 && d.id[1] == 9 && d.weight[0] == (double)(float)exp(-3.0) && d.weight[1] == 1.0);
    ts_distribution_free(&d);
    must(ts_draft_distribution(score, id, 4, 0.0f, &d, &err), &err);
    assert_true(d.n == 1 && d.id[0] == 9 && d.total == 1.0 && d.margin == 0.0 && d.boundary);
    ts_distribution_free(&d);
    assert_int_equal(ts_draft_distribution(score, id, 0, 0.5f, &d, &err), TS_BAD);
    assert_int_equal(ts_draft_distribution((float[]){1, NAN}, id, 2, 0.5f, &d, &err), TS_BAD);
    assert_string_equal(err.tensor, "score");
    assert_int_equal(ts_draft_distribution(score, id, 4, 1e-40f, &d, &err), TS_BAD);
    assert_string_equal(err.tensor, "temperature");
    assert_int_equal(ts_draft_distribution64(wide, id, 4, (double)NAN, &d, &err), TS_BAD);
}

/* [lo, hi): a number on an edge takes the token above it, and no token of weight 0 is ever taken. */
static void test_draw_edges(void **state)
{
    (void)state;
    int32_t ids[] = {3, 8, 5, 1};
    double weights[] = {1, 0, 1, 2};
    ts_distribution d = {.id = ids, .weight = weights, .n = 4, .total = 4.0};
    static const struct {
        double u;
        int32_t id;
        double lo, hi, distance;
    } cases[] = {
        {0.0, 3, 0, 1, 0},       {0.125, 3, 0, 1, 0.5}, {0.25, 5, 1, 2, 0},
        {0.4375, 5, 1, 2, 0.25}, {0.5, 1, 2, 4, 0},     {1.0 - 0x1p-53, 1, 2, 4, 0x1p-51},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ts_drawn it = ts_draw(&d, cases[i].u);
        assert_true(it.id == cases[i].id && it.lo == cases[i].lo && it.hi == cases[i].hi);
        assert_true(it.distance == cases[i].distance && ids[it.index] == it.id);
    }
}

static void test_bad_filters(void **state)
{
    (void)state;
    const double z[] = {1, 2}, inf[] = {1, (double)INFINITY};
    ts_filter64 f = {.temperature = (double)NAN};
    ts_distribution d;
    ts_error err = {0};
    assert_int_equal(ts_distribution_of64(&f, z, 2, &d, &err), TS_BAD);
    assert_string_equal(err.tensor, "temperature");
    f = (ts_filter64){1.0, 0, (double)NAN, 0.0};
    assert_int_equal(ts_distribution_of64(&f, z, 2, &d, &err), TS_BAD);
    assert_string_equal(err.tensor, "top_p");
    f = (ts_filter64){1.0, 0, 1.0, 1.5};
    assert_int_equal(ts_distribution_of64(&f, z, 2, &d, &err), TS_BAD);
    assert_string_equal(err.tensor, "min_p");
    f = (ts_filter64){1.0, 0, 1.0, 0.0};
    assert_int_equal(ts_distribution_of64(&f, z, 0, &d, &err), TS_BAD);
    assert_int_equal(ts_distribution_of64(&f, inf, 2, &d, &err), TS_BAD);
    assert_non_null(strstr(err.reason, "+inf"));
}

typedef struct {
    ts_weights *w;
    ts_tokenizer *tok;
    ts_ref_model *model;
} tiny;

static int open_tiny(void **state)
{
    static tiny t;
    ts_error err = {0};
    must(ts_weights_load(MODEL, &t.w, &err), &err);
    must(ts_tokenizer_open(MODEL "/tokenizer.json", &t.tok, &err), &err);
    must(ts_ref64.model_new(t.w, ts_profile_find("exact"), &t.model, &err), &err);
    *state = &t;
    return 0;
}

static int close_tiny(void **state)
{
    tiny *t = *state;
    ts_ref64.model_free(t->model);
    ts_tokenizer_close(t->tok);
    ts_weights_free(t->w);
    return 0;
}

static const cJSON *get(const cJSON *o, const char *key)
{
    const cJSON *m = cJSON_GetObjectItemCaseSensitive(o, key);
    if (!m)
        fail_msg("no member %s", key);
    return m;
}

/* Logits of ref64 for every position of prompt and emitted ids. */
static double *logits_of(const tiny *t, const cJSON *c, ts_error *err)
{
    const char *prompt = get(c, "prompt")->valuestring;
    int32_t *ids = NULL;
    size_t n = 0;
    must(ts_tokenizer_encode(t->tok, prompt, strlen(prompt), &ids, &n, err), err);
    assert_int_equal(n, get(c, "prompt_tokens")->valueint);
    size_t total = n + (size_t)cJSON_GetArraySize(get(c, "emitted"));
    ids = realloc(ids, total * sizeof *ids);
    const cJSON *x;
    cJSON_ArrayForEach (x, get(c, "emitted"))
        ids[n++] = x->valueint;
    double *logits = malloc(total * (size_t)t->w->cfg.V * sizeof *logits);
    ts_ref_state *s = NULL;
    must(ts_ref64.state_new(t->model, (int64_t)total, &s, err), err);
    must(ts_ref64.forward(t->model, s, ids, (int64_t)total, (int64_t)total, logits, NULL, err), err);
    ts_ref64.state_free(s);
    free(ids);
    return logits;
}

static void near(double got, double want, const char *what, int round)
{
    if (!(fabs(got - want) < 1e-12))
        fail_msg("round %d: %s %.17g, golden %.17g", round, what, got, want);
}

/* The rows that count, 0..a, have the committed ids before them; the others stand for rows that nobody may look at.
 */
static void rows_of(const double *logits, int64_t V, const ts_filter64 *f, int64_t n, int a, int k,
                    ts_distribution *p)
{
    ts_error err = {0};
    for (int j = 0; j <= k; j++)
        must(ts_distribution_of64(f, logits + (n + (j < a ? j : a)) * V, V, &p[j], &err), &err);
}

static void free_rows(ts_distribution *p, int k)
{
    for (int j = 0; j <= k; j++)
        ts_distribution_free(&p[j]);
}

static int read_draft(const cJSON *r, int32_t *draft)
{
    const cJSON *x;
    int k = 0;
    cJSON_ArrayForEach (x, get(r, "draft"))
        draft[k++] = x->valueint;
    return k;
}

static void compare_numbers(const cJSON *r, const ts_round_verdict *v, int round)
{
    int tested = cJSON_GetArraySize(get(r, "u"));
    assert_int_equal(v->tested, tested);
    for (int i = 0; i < tested; i++) {
        assert_true(v->u[i] == cJSON_GetArrayItem(get(r, "u"), i)->valuedouble);
        near(v->p_d[i], cJSON_GetArrayItem(get(r, "p_d"), i)->valuedouble, "p_d", round);
        near(v->q_d[i], cJSON_GetArrayItem(get(r, "q_d"), i)->valuedouble, "q_d", round);
    }
}

/* q is known at the draft only: what else it holds stands on an id outside the vocabulary. With point masses that
 * is all of it; else a round that rejects has a residual that the golden does not tell. */
static void compare_round(const cJSON *r, const double *logits, int64_t V, bool point, int round)
{
    static const ts_filter64 golden = {0.6, 20, 0.95, 0.0};
    const uint64_t seed = 1234;
    ts_uniforms from = ts_uniforms_philox(&seed);
    int32_t draft[8], ids[8][2];
    double weights[8][2];
    ts_distribution p[9], q[8];
    ts_error err = {0};
    ts_round_verdict v;
    int k = read_draft(r, draft), a = get(r, "a")->valueint;
    int64_t n = get(r, "n")->valueint;
    rows_of(logits, V, &golden, n, a, k, p);
    for (int i = 0; i < k; i++) {
        double q_d = cJSON_GetArrayItem(get(r, "q_d"), i)->valuedouble;
        ids[i][0] = draft[i];
        ids[i][1] = (int32_t)V;
        weights[i][0] = q_d;
        weights[i][1] = 1.0 - q_d;
        q[i] = (ts_distribution){.id = ids[i], .weight = weights[i], .n = 2, .total = q_d + (1.0 - q_d)};
    }
    ts_verify_input in = {(uint64_t)n, k, draft, p, q, &from};
    must(ts_verify_round(point ? TS_VERIFY_POINT : TS_VERIFY_RATIO, &in, &v, &err), &err);
    assert_int_equal(v.a, a);
    compare_numbers(r, &v, round);
    if (point || a == k) {
        assert_int_equal(v.final, get(r, "final")->valueint);
        near(v.min_slack, get(r, "min_slack")->valuedouble, "min_slack", round);
    }
    free_rows(p, k);
}

static void compare_greedy(const cJSON *r, const double *logits, int64_t V, int round)
{
    static const ts_filter64 golden = {0.0, 0, 1.0, 0.0};
    int32_t draft[8];
    ts_distribution p[9];
    ts_error err = {0};
    ts_round_verdict v;
    int k = read_draft(r, draft), a = get(r, "a")->valueint;
    int64_t n = get(r, "n")->valueint;
    rows_of(logits, V, &golden, n, a, k, p);
    ts_verify_input in = {.n = (uint64_t)n, .k = k, .draft = draft, .p = p};
    must(ts_verify_greedy(&in, &v, &err), &err);
    assert_true(v.a == a && v.final == get(r, "final")->valueint);
    near(v.min_margin, get(r, "min_margin")->valuedouble, "min_margin", round);
    free_rows(p, k);
}

typedef enum { GREEDY, POINT, RATIO } rule;

static void compare_file(const tiny *t, const char *file, rule which)
{
    static const char *const cases[] = {"comment", "chatC", "chat1"}; /* the short ones */
    cJSON *root = NULL;
    ts_error err = {0};
    must(ts_json_load(file, &root, &err), &err);
    for (int c = 0; c < 3; c++) {
        const cJSON *one = get(which == GREEDY ? root : get(root, "cases"), cases[c]), *r;
        double *logits = logits_of(t, one, &err);
        int round = 0;
        cJSON_ArrayForEach (r, get(one, "rounds")) {
            if (which == GREEDY)
                compare_greedy(r, logits, t->w->cfg.V, round++);
            else
                compare_round(r, logits, t->w->cfg.V, which == POINT, round++);
        }
        assert_true(round > 5);
        free(logits);
    }
    cJSON_Delete(root);
}

static void test_golden_point(void **state)
{
    compare_file(*state, "golden/external/spec-ratio-mtp3.json", POINT);
}

static void test_golden_ratio(void **state)
{
    compare_file(*state, "golden/external/spec-ratio-dflash7.json", RATIO);
}

static void test_golden_greedy(void **state)
{
    compare_file(*state, "golden/external/spec-greedy-mtp3.json", GREEDY);
    compare_file(*state, "golden/external/spec-greedy-dflash7.json", GREEDY);
}

/* u * total rounds up to a total that is subnormal: the draw still ends on what can be drawn, inside its share. */
static void test_draw_subnormal(void **state)
{
    (void)state;
    for (uint64_t units = 1; units <= 64; units++) {
        double weight[3] = {(double)(units / 2) * 0x1p-1074, (double)(units - units / 2) * 0x1p-1074, 0.0};
        int32_t id[3] = {7, 8, 9};
        ts_distribution d = {.id = id, .weight = weight, .n = 3, .total = (double)units * 0x1p-1074};
        static const double u[] = {0.0, 0.5, 0.75, 0.99, 1.0 - 0x1p-53};
        for (size_t i = 0; i < sizeof u / sizeof *u; i++) {
            ts_drawn it = ts_draw(&d, u[i]);
            assert_true(weight[it.index] > 0.0 && it.lo <= it.target && it.target < it.hi);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_sampler), cmocka_unit_test(test_draft_law),
        cmocka_unit_test(test_draw_edges),      cmocka_unit_test(test_bad_filters),
        cmocka_unit_test(test_golden_point),    cmocka_unit_test(test_golden_ratio),
        cmocka_unit_test(test_golden_greedy),   cmocka_unit_test(test_draw_subnormal),
    };
    return cmocka_run_group_tests(tests, open_tiny, close_tiny);
}
