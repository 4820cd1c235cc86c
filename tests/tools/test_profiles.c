/* Profiles: docs/profiles.md is what the tables say, and no choice is dead: changing any of them changes what some
 * model computes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/folder.h"
#include "capture.h"
#include "num/sha256.h"
#include "quantize.h"
#include "ref.h"
#include "tool.h"

enum { SHORT = 70, LONG = 300, STEPS = 3, MODELS = 3 };

static folder home, codes;
/* bf16; the same in MLX 4 bits, groups of 32 (Dk = 32: Dk^-0.5 is no power of two); and a larger one for what seldom
 * gets past a rounding to bf16. */
static ts_weights *model[MODELS];

static void link_to(const char *golden, const char *name)
{
    char from[PATH_MAX], to[FOLDER_PATH];
    assert_non_null(realpath(golden, from));
    assert_int_equal(symlink(from, folder_file(&home, name, to)), 0);
}

static int setup(void **state)
{
    (void)state;
    char quantised[FOLDER_PATH];
    folder_make(&home);
    folder_make(&codes);
    link_to("golden/external/rand-qwen35-edge-config.json", "config.json");
    link_to("golden/external/rand-qwen35-edge-weights.safetensors", "model.safetensors");
    folder_file(&codes, "q4", quantised);
    assert_int_equal(ts_weights_load(home.path, &model[0], NULL), TS_OK);
    assert_int_equal(ts_quantize(home.path, quantised, &(ts_quantize_options){.bits = 4, .group = 32}, NULL),
                     TS_OK);
    assert_int_equal(ts_weights_load(quantised, &model[1], NULL), TS_OK);
    assert_int_equal(ts_weights_load("golden/models/tiny-qwen35", &model[2], NULL), TS_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    folder q4;
    for (int i = 0; i < MODELS; i++)
        ts_weights_free(model[i]);
    snprintf(q4.path, sizeof q4.path, "%.50s/q4", codes.path);
    folder_remove(&q4);
    folder_remove(&codes);
    folder_remove(&home);
    return 0;
}

/* The hash of the logits of a prompt in one piece and of a few tokens one by one. */
static void run(int which, const ts_profile *p, char hex[TS_SHA256_HEX])
{
    const ts_weights *w = model[which];
    const int64_t V = w->cfg.V, T = which < 2 ? SHORT : LONG;
    ts_ref_model *m;
    ts_ref_state *s;
    int32_t ids[LONG + STEPS];
    float *z = malloc((size_t)((T + STEPS) * V) * sizeof *z);
    assert_non_null(z);
    for (int64_t i = 0; i < T + STEPS; i++)
        ids[i] = (int32_t)((i * 37 + i / 9) % V);
    assert_int_equal(ts_ref32.model_new(w, p, &m, NULL), TS_OK);
    assert_int_equal(ts_ref32.state_new(m, T + STEPS, &s, NULL), TS_OK);
    assert_int_equal(ts_ref32.forward(m, s, ids, T, T, z, NULL, NULL), TS_OK);
    for (int64_t i = T; i < T + STEPS; i++)
        assert_int_equal(ts_ref32.forward(m, s, &ids[i], 1, 1, z + i * V, NULL, NULL), TS_OK);
    ts_sha256(z, (size_t)((T + STEPS) * V) * sizeof *z, hex);
    ts_ref32.state_free(s);
    ts_ref32.model_free(m);
    free(z);
}

/* Does p with choice c set to v compute something else? own: the hash of p, "" if not yet known. */
static bool matters(int which, const ts_profile *p, const ts_choice *c, int v, char own[TS_SHA256_HEX])
{
    ts_profile other = *p;
    char hex[TS_SHA256_HEX];
    ts_choice_set(&other, c, v);
    if (!*own)
        run(which, p, own);
    run(which, &other, hex);
    return strcmp(hex, own) != 0;
}

static bool shown[64][TS_MAX_VALUES];

/* Notes every value of choice k that shows on this model; is there any? */
static bool try_values(int which, const ts_profile *p, int k, char own[TS_SHA256_HEX])
{
    const ts_choice *c = ts_choice_at(k);
    bool any = false;
    for (int v = 0; v < TS_MAX_VALUES && c->value[v].name; v++)
        if (v != ts_choice_get(p, c) && matters(which, p, c, v, own))
            any = shown[k][v] = true;
    return any;
}

/* In every profile every choice can be changed so that it shows; and every value of every choice shows in some. */
static void no_choice_is_dead(void **state)
{
    (void)state;
    const ts_profile *p;
    const ts_choice *c;
    for (int i = 0; (p = ts_profile_at(i)) != NULL; i++) {
        char own[MODELS][TS_SHA256_HEX] = {""};
        for (int k = 0; (c = ts_choice_at(k)) != NULL; k++) {
            bool any = false;
            for (int n = 0; n < MODELS; n++)
                any |= (n < 2 || !any) && try_values(n, p, k, own[n]);
            if (!any)
                fail_msg("%s: no change of %s shows", p->name, c->name);
        }
    }
    for (int k = 0; (c = ts_choice_at(k)) != NULL; k++)
        for (int v = 0; v < TS_MAX_VALUES && c->value[v].name; v++)
            if (!shown[k][v])
                fail_msg("%s=%s never shows", c->name, c->value[v].name);
}

static void docs_are_what_the_code_says(void **state)
{
    (void)state;
    static capture c;
    static char docs[CAPTURE_TEXT];
    FILE *f = fopen("docs/profiles.md", "rb");
    assert_non_null(f);
    docs[fread(docs, 1, sizeof docs - 1, f)] = '\0';
    fclose(f);
    assert_int_equal(capture_run(&c, ts_cmd_profiles, "profiles", NULL), TS_OK);
    assert_string_equal(c.out, docs); /* touchstone profiles > docs/profiles.md */
}

static void json_names_every_choice(void **state)
{
    (void)state;
    static capture c;
    const ts_profile *p;
    assert_int_equal(capture_run(&c, ts_cmd_profiles, "profiles", "--json", NULL), TS_OK);
    cJSON *o = cJSON_Parse(c.out), *all = cJSON_GetObjectItemCaseSensitive(o, "profiles");
    for (int i = 0; (p = ts_profile_at(i)) != NULL; i++) {
        const cJSON *one = cJSON_GetArrayItem(all, i);
        assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one, "name")), p->name);
        for (int k = 0; ts_choice_at(k); k++)
            assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one, ts_choice_at(k)->name)),
                                ts_choice_at(k)->value[ts_choice_get(p, ts_choice_at(k))].name);
    }
    cJSON_Delete(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_choice_is_dead, setup, teardown),
        cmocka_unit_test(docs_are_what_the_code_says),
        cmocka_unit_test(json_names_every_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
