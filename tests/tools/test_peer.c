/* check's comparison with the ids of another engine: what is the same, what is a near-tie, what is a failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/folder.h"
#include "check/external.h"
#include "ref.h"

enum { T = 3, N = 6 };

static folder golden, models, model;
static int32_t prompt[T] = {7, 1, 4};

static void link_to(const char *from, const folder *f, const char *name)
{
    char real[PATH_MAX], to[FOLDER_PATH];
    assert_non_null(realpath(from, real));
    assert_int_equal(symlink(real, folder_file(f, name, to)), 0);
}

static int setup(void **state)
{
    (void)state;
    folder_make(&golden);
    snprintf(models.path, sizeof models.path, "%.40s/models", golden.path);
    snprintf(model.path, sizeof model.path, "%.50s/m", models.path);
    assert_int_equal(mkdir(models.path, 0700), 0);
    assert_int_equal(mkdir(model.path, 0700), 0);
    link_to("golden/external/rand-qwen35-edge-config.json", &model, "config.json");
    link_to("golden/external/rand-qwen35-edge-weights.safetensors", &model, "model.safetensors");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    folder_remove(&model);
    folder_remove(&models);
    folder_remove(&golden);
    return 0;
}

/* Greedy ids after the prompt, but forced[i] where that is not -1; the second best of step `at` goes to *second.
 * Returns by how much the best beats it. */
static float greedy(const int32_t forced[N], int at, int32_t ids[N], int32_t *second)
{
    ts_weights *w;
    ts_ref_model *m;
    ts_ref_state *s;
    assert_int_equal(ts_weights_load(model.path, &w, NULL), TS_OK);
    assert_int_equal(ts_ref32.model_new(w, ts_profile_find("exact"), &m, NULL), TS_OK);
    assert_int_equal(ts_ref32.state_new(m, T + N, &s, NULL), TS_OK);
    const int32_t V = (int32_t)w->cfg.V;
    float *z = malloc((size_t)V * sizeof *z), gap = 0;
    assert_non_null(z);
    assert_int_equal(ts_ref32.forward(m, s, prompt, T, 1, z, NULL, NULL), TS_OK);
    for (int i = 0; i < N; i++) {
        int32_t best = 0, next = -1;
        for (int32_t v = 1; v < V; v++)
            best = z[v] > z[best] ? v : best;
        for (int32_t v = 0; v < V; v++)
            if (v != best && (next < 0 || z[v] > z[next]))
                next = v;
        if (i == at) {
            *second = next;
            gap = z[best] - z[next];
        }
        ids[i] = forced[i] < 0 ? best : forced[i];
        assert_int_equal(ts_ref32.forward(m, s, &ids[i], 1, 1, z, NULL, NULL), TS_OK);
    }
    free(z);
    ts_ref32.state_free(s);
    ts_ref32.model_free(m);
    ts_weights_free(w);
    return gap;
}

/* The check of these ids, `vary` being the changes. What was found; to be freed. */
static ts_report check(const int32_t ids[N], const char *vary)
{
    char text[1024], path[FOLDER_PATH];
    snprintf(text, sizeof text,
             "{\"cases\": {\"p\": {\"prompt_ids\": [%d, %d, %d], \"greedy\": [%d, %d, %d, %d, %d, %d]}}}",
             prompt[0], prompt[1], prompt[2], ids[0], ids[1], ids[2], ids[3], ids[4], ids[5]);
    folder_text(&golden, "peer.json", text);
    snprintf(text, sizeof text,
             "{\"schema\": 1, \"kind\": \"external\", \"check\": \"peer\", \"golden\": \"peer.json\", \"model\": "
             "\"models/m\", \"profile\": \"exact\", \"vary\": \"%s\"}",
             vary);
    folder_text(&golden, "case.json", text);
    ts_case c;
    struct ts_model_cache *cache = NULL;
    ts_report r = {.quiet = true};
    ts_check k = {.o = {.golden = golden.path, .no_own = true}, .report = &r, .models = &cache};
    assert_int_equal(ts_case_load(golden.path, folder_file(&golden, "case.json", path), &c, NULL), TS_OK);
    assert_int_equal(c.kind, TS_CASE_EXTERNAL);
    ts_report_begin(&r, "peer", "case");
    ts_external_peer(&k, &c);
    ts_check_models_free(&k);
    ts_case_free(&c);
    return r;
}

/* One finding, of that verdict, whose detail has the word. */
static void finds(const int32_t ids[N], const char *vary, ts_verdict verdict, const char *word)
{
    ts_report r = check(ids, vary);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.v[0].verdict, verdict);
    if (word && (!r.v[0].detail || !strstr(r.v[0].detail, word)))
        fail_msg("'%s' is not in: %s", word, r.v[0].detail ? r.v[0].detail : "");
    ts_report_free(&r);
}

static const int32_t none[N] = {-1, -1, -1, -1, -1, -1};

static void own_ids_are_the_same(void **state)
{
    (void)state;
    int32_t ids[N], second;
    greedy(none, 0, ids, &second);
    finds(ids, "norm=rmsnorm_ggml", TS_SAME, NULL);
}

/* The recorded run goes another way at step 2 and is greedy again after it: ref32 is led along, and that is one
 * fork. */
static void one_fork_is_one(void **state)
{
    (void)state;
    int32_t ids[N], forced[N], second, wrong;
    memcpy(forced, none, sizeof forced);
    greedy(none, 2, ids, &second);
    forced[2] = wrong = ids[2] == 5 ? 6 : 5;
    assert_true(second != wrong);
    greedy(forced, 2, ids, &second);
    finds(ids, "norm=rmsnorm_ggml,gdn=gdn_step_ggml", TS_FAIL, "1 of 6 steps");
    finds(ids, "", TS_FAIL, "1 of 6 steps");
}

/* The second best, and a change that moves logits by more than what parts the two. */
static void a_change_that_moves_it_makes_a_near_tie(void **state)
{
    (void)state;
    int32_t ids[N], forced[N], second, closest = 0;
    float least = INFINITY;
    memcpy(forced, none, sizeof forced);
    for (prompt[2] = 0; prompt[2] < 90; prompt[2]++) {
        float gap = greedy(none, 2, ids, &second);
        if (gap < least) {
            least = gap;
            closest = prompt[2];
        }
    }
    prompt[2] = closest;
    greedy(none, 2, ids, &second);
    forced[2] = second;
    greedy(forced, 2, ids, &second);
    finds(ids, "norm=rmsnorm_ggml", TS_FAIL, "1 of 6 steps");
    finds(ids, "norm=rmsnorm_ggml,stream=bf16", TS_NEAR_TIE, "1 of 6 steps");
}

static void bad_input_is_red(void **state)
{
    (void)state;
    int32_t ids[N] = {1, 2, 3, 4, 5, 1000};
    finds(ids, "norm=rmsnorm_ggml", TS_FAIL, "1000");
    ids[5] = 6;
    finds(ids, "norm=nothing", TS_FAIL, "norm=nothing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_ids_are_the_same),
        cmocka_unit_test(one_fork_is_one),
        cmocka_unit_test(a_change_that_moves_it_makes_a_near_tie),
        cmocka_unit_test(bad_input_is_red),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
