/* Profiles: docs/profiles.md is what the tables say, and no choice is dead: changing any of them changes what some
 * model computes. */
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
#include <unistd.h>

#include "../base/folder.h"
#include "capture.h"
#include "convert.h"
#include "num/sha256.h"
#include "quantize.h"
#include "ref.h"
#include "tool.h"
#include "trace/trace.h"

enum { SHORT = 70, LONG = 300, STEPS = 3, MODELS = 5 };

static folder edge, dense, codes;
/* A small one in bf16 (Dk = 32: Dk^-0.5 is no power of two) and MLX in groups of 32; one in GGUF Q8_0; a larger one
 * in MLX in groups of 64; and in bf16, with a long prompt, for what seldom gets past a rounding to bf16. */
enum { BF16, MLX32, Q8_0, MLX64, LARGE };
static ts_weights *model[MODELS];

static void link_to(const folder *f, const char *golden, const char *name)
{
    char from[PATH_MAX], to[FOLDER_PATH];
    assert_non_null(realpath(golden, from));
    assert_int_equal(symlink(from, folder_file(f, name, to)), 0);
}

/* A copy of `from` in MLX 4 bits. */
static void quantise(const char *from, const char *name, int group, ts_weights **out)
{
    char to[FOLDER_PATH];
    folder_file(&codes, name, to);
    assert_int_equal(ts_quantize(from, to, &(ts_quantize_options){.bits = 4, .group = group}, NULL), TS_OK);
    assert_int_equal(ts_weights_load(to, out, NULL), TS_OK);
}

static int setup(void **state)
{
    (void)state;
    static const char tiny[] = "golden/models/tiny-qwen35";
    char gguf[FOLDER_PATH];
    ts_convert_result r;
    folder_make(&edge);
    folder_make(&dense);
    folder_make(&codes);
    link_to(&edge, "golden/external/rand-qwen35-edge-config.json", "config.json");
    link_to(&edge, "golden/external/rand-qwen35-edge-weights.safetensors", "model.safetensors");
    link_to(&dense, "golden/external/rand-qwen35-dense-config.json", "config.json");
    link_to(&dense, "golden/external/rand-qwen35-dense-weights.safetensors", "model.safetensors");
    assert_int_equal(ts_weights_load(edge.path, &model[BF16], NULL), TS_OK);
    quantise(edge.path, "mlx32", 32, &model[MLX32]);
    assert_int_equal(ts_convert_gguf(dense.path, folder_file(&codes, "q8_0.gguf", gguf), "q8_0", &r, NULL), TS_OK);
    assert_int_equal(ts_weights_load(gguf, &model[Q8_0], NULL), TS_OK);
    quantise(tiny, "mlx64", 64, &model[MLX64]);
    assert_int_equal(ts_weights_load(tiny, &model[LARGE], NULL), TS_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    static const char *const copies[] = {"mlx32", "mlx64"};
    for (int i = 0; i < MODELS; i++)
        ts_weights_free(model[i]);
    for (int i = 0; i < 2; i++) {
        folder f;
        snprintf(f.path, sizeof f.path, "%.50s/%s", codes.path, copies[i]);
        folder_remove(&f);
    }
    folder_remove(&codes);
    folder_remove(&edge);
    folder_remove(&dense);
    return 0;
}

/* The hash of the logits of a prompt in one piece and of a few tokens one by one. */
static void run(int which, const ts_profile *p, char hex[TS_SHA256_HEX])
{
    const ts_weights *w = model[which];
    const int64_t V = w->cfg.V, T = which == LARGE ? LONG : SHORT;
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

static bool any_value_matters(int which, const ts_profile *p, const ts_choice *c, char own[TS_SHA256_HEX])
{
    for (int v = 0; v < TS_MAX_VALUES && c->value[v].name; v++)
        if (v != ts_choice_get(p, c) && matters(which, p, c, v, own))
            return true;
    return false;
}

/* In every profile every choice can be changed so that it shows. */
static void no_choice_is_dead(void **state)
{
    (void)state;
    const ts_profile *p;
    const ts_choice *c;
    for (int i = 0; (p = ts_profile_at(i)) != NULL; i++) {
        char own[MODELS][TS_SHA256_HEX] = {""};
        for (int k = 0; (c = ts_choice_at(k)) != NULL; k++) {
            bool any = false;
            for (int n = 0; n < MODELS && !any; n++)
                any = any_value_matters(n, p, c, own[n]);
            if (!any)
                fail_msg("%s: no change of %s shows", p->name, c->name);
        }
    }
}

/* Do values v and w of c differ, whatever the rest? */
static bool differ(const ts_choice *c, int v, int w)
{
    const ts_profile *p;
    for (int n = 0; n < MODELS; n++)
        for (int i = 0; (p = ts_profile_at(i)) != NULL; i++) {
            ts_profile one = *p;
            char own[TS_SHA256_HEX] = "";
            ts_choice_set(&one, c, v);
            if (matters(n, &one, c, w, own))
                return true;
        }
    return false;
}

/* No two values of a choice are the same. */
static void no_two_values_are_one(void **state)
{
    (void)state;
    const ts_choice *c;
    for (int k = 0; (c = ts_choice_at(k)) != NULL; k++)
        for (int v = 0; v < TS_MAX_VALUES && c->value[v].name; v++)
            for (int w = 0; w < v; w++)
                if (!differ(c, v, w))
                    fail_msg("%s: %s and %s are one", c->name, c->value[v].name, c->value[w].name);
}

static bool change_matters(int which, const char *profile, const char *change)
{
    ts_profile p = *ts_profile_find(profile), other = p;
    char a[TS_SHA256_HEX], b[TS_SHA256_HEX];
    assert_true(ts_profile_change(&other, change));
    run(which, &p, a);
    run(which, &other, b);
    return strcmp(a, b) != 0;
}

/* The class of a linear follows the format of its weights. */
static void linears_follow_the_format(void **state)
{
    (void)state;
    assert_true(change_matters(BF16, "exact", "linear=ggml"));
    assert_true(change_matters(Q8_0, "exact", "linear=ggml"));
    assert_false(change_matters(MLX32, "exact", "linear=ggml"));
    assert_false(change_matters(MLX32, "exact", "linear=a64s8"));
    assert_true(change_matters(MLX64, "exact", "linear=a64s8"));
    assert_true(change_matters(MLX32, "exact", "linear=mlx_metal"));
    assert_false(change_matters(BF16, "exact", "linear=mlx_metal"));
}

/* Logits of the last row of a prompt fed in pieces of that many rows. */
static void feed(const ts_profile *p, int64_t piece, float *z)
{
    const ts_weights *w = model[BF16];
    ts_ref_model *m;
    ts_ref_state *s;
    int32_t ids[SHORT];
    for (int i = 0; i < SHORT; i++)
        ids[i] = (int32_t)((i * 37 + i / 9) % w->cfg.V);
    assert_int_equal(ts_ref32.model_new(w, p, &m, NULL), TS_OK);
    assert_int_equal(ts_ref32.state_new(m, SHORT, &s, NULL), TS_OK);
    for (int64_t t = 0; t < SHORT; t += piece)
        assert_int_equal(ts_ref32.forward(m, s, ids + t, piece, 1, z, NULL, NULL), TS_OK);
    ts_ref32.state_free(s);
    ts_ref32.model_free(m);
}

static bool pieces_matter(const char *profile, const char *change)
{
    ts_profile p = *ts_profile_find(profile);
    size_t size = (size_t)model[BF16]->cfg.V * sizeof(float);
    float *whole = malloc(size), *cut = malloc(size);
    assert_true(whole && cut && (!change || ts_profile_change(&p, change)));
    feed(&p, SHORT, whole);
    feed(&p, 1, cut);
    bool differs = memcmp(whole, cut, size) != 0;
    free(whole);
    free(cut);
    return differs;
}

/* Under the house's profiles a row does not depend on how many run with it; where another engine takes another form
 * for many, it does. */
static void forms_follow_the_rows(void **state)
{
    (void)state;
    assert_false(pieces_matter("exact", NULL));
    assert_false(pieces_matter("ts", NULL));
    assert_true(pieces_matter("exact", "gdn=chunk64_prefill"));
    assert_true(pieces_matter("exact", "attention=flash_ggml"));
    assert_false(pieces_matter("exact", "attention=softmax_ggml"));
    assert_false(pieces_matter("exact", "gdn=gdn_step_ggml"));
}

/* layer.0.o of a short prompt; to be freed. */
static float *readout(const char *change, int64_t *n)
{
    ts_profile p = *ts_profile_find("exact");
    ts_ref_model *m;
    ts_ref_state *s;
    ts_trace *trace = ts_trace_new();
    const int32_t ids[] = {3, 1, 4, 1, 5};
    assert_true(trace && (!change || ts_profile_change(&p, change)));
    assert_int_equal(ts_ref32.model_new(model[BF16], &p, &m, NULL), TS_OK);
    assert_int_equal(ts_ref32.state_new(m, 5, &s, NULL), TS_OK);
    assert_int_equal(ts_ref32.forward(m, s, ids, 5, 0, NULL, trace, NULL), TS_OK);
    const ts_tensor *o = ts_trace_find(trace, "layer.0.o");
    float *y = malloc(o->size);
    assert_non_null(y);
    memcpy(y, o->data, o->size);
    *n = ts_tensor_count(o);
    ts_trace_free(trace);
    ts_ref32.state_free(s);
    ts_ref32.model_free(m);
    return y;
}

/* The norm after it would hide a scale that is missing. */
static void the_scale_is_somewhere(void **state)
{
    (void)state;
    static const char *const changes[] = {"q_scale=output", "l2norm=l2norm_ggml", "gdn=gdn_step_ggml"};
    int64_t n = 0;
    float *want = readout(NULL, &n);
    for (int c = 0; c < 3; c++) {
        float *o = readout(changes[c], &n), most = 0;
        for (int64_t i = 0; i < n; i++)
            most = fmaxf(most, fabsf(want[i]));
        for (int64_t i = 0; i < n; i++)
            assert_true(fabsf(o[i] - want[i]) < 1e-5f * most);
        free(o);
    }
    free(want);
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
        cmocka_unit_test(no_choice_is_dead),         cmocka_unit_test(no_two_values_are_one),
        cmocka_unit_test(linears_follow_the_format), cmocka_unit_test(forms_follow_the_rows),
        cmocka_unit_test(the_scale_is_somewhere),    cmocka_unit_test(docs_are_what_the_code_says),
        cmocka_unit_test(json_names_every_choice),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
