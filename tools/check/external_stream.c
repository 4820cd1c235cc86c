/* Goldens of streams: likelihood of a text, sampled tokens, the sampler alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/external.h"
#include "format/json.h"
#include "format/tokenizer.h"
#include "generate.h"
#include "ref.h"
#include "runner.h"

static double log_sum_exp(const double *x, int64_t n)
{
    double m = x[0], sum = 0;
    for (int64_t i = 1; i < n; i++)
        if (x[i] > m)
            m = x[i];
    for (int64_t i = 0; i < n; i++)
        sum += exp(x[i] - m);
    return m + log(sum);
}

/* nll[t] = -log softmax(logits[t])[ids[t+1]] over the whole text in one call. */
static ts_status nll(const ts_weights *w, const int32_t *ids, int64_t T, double *out, ts_error *err)
{
    ts_ref_model *m = NULL;
    ts_ref_state *state = NULL;
    int64_t V = w->cfg.V;
    if (ids[T] < 0 || ids[T] >= V) /* the forward pass sees only the ids before it */
        return ts_fail(err, TS_BAD, w->path, NULL, "the last id is %d, the vocabulary has 0..%lld", ids[T], (long long)V - 1);
    double *logits = malloc((size_t)(T * V) * sizeof *logits);
    ts_status s = logits ? ts_ref64.model_new(w, ts_profile_find("exact"), &m, err)
                         : ts_no_memory(err, (unsigned long)(T * V) * 8);
    if (!s)
        s = ts_ref64.state_new(m, T, &state, err);
    if (!s)
        s = ts_ref64.forward(m, state, ids, T, T, logits, NULL, err);
    for (int64_t t = 0; !s && t < T; t++)
        out[t] = log_sum_exp(logits + t * V, V) - logits[t * V + ids[t + 1]];
    ts_ref64.state_free(state);
    ts_ref64.model_free(m);
    free(logits);
    return s;
}

static void compare_nll(ts_check *k, const double *x, const ts_tensor *golden, double limit)
{
    double worst = 0;
    int64_t at = 0, n = ts_tensor_count(golden);
    for (int64_t i = 0; i < n; i++) {
        double e = fabs(x[i] - ts_tensor_get(golden, i));
        if (!(e <= worst)) {
            worst = e >= 0 ? e : HUGE_VAL; /* a NaN must show, and stay */
            at = i;
        }
    }
    char detail[256];
    snprintf(detail, sizeof detail, "token %lld: nll %.17g, golden %.17g, error %.3g, allowed %.3g\n",
             (long long)at, x[at], ts_tensor_get(golden, at), worst, limit);
    bool ok = worst <= limit;
    ts_report_add(k->report, "ref64 ~ golden", "nll", ok ? TS_BOUND : TS_FAIL, worst / limit, ok ? NULL : detail);
}

void ts_external_nll(ts_check *k, const ts_case *c)
{
    ts_safetensors *f = NULL;
    const ts_weights *w = NULL;
    const ts_tensor *ids = NULL, *golden = NULL;
    const char *model = ts_case_string(c, "model");
    ts_error err = {0};
    ts_status s = ts_external_open(k, c, "golden", &f, &err);
    if (!s)
        s = ts_external_tensor(f, "input_ids", TS_I32, &ids, &err);
    if (!s)
        s = ts_external_tensor(f, "nll", TS_F64, &golden, &err);
    if (!s && ts_tensor_count(ids) != ts_tensor_count(golden) + 1)
        s = ts_fail(&err, TS_BAD, ts_safetensors_path(f), "nll", "not one value a token after the first");
    if (!s)
        s = ts_check_model(k, model ? model : "", 0, &w, &err);
    int64_t T = s ? 0 : ts_tensor_count(golden);
    int32_t *copy = s ? NULL : ts_external_copy(ids);
    double *x = malloc((size_t)T * sizeof *x + 1);
    if (!s)
        s = copy && x ? nll(w, copy, T, x, &err) : ts_no_memory(&err, (unsigned long)T * 12);
    if (s)
        ts_report_error(k->report, "ref64 ~ golden", s, &err);
    else
        compare_nll(k, x, golden, 1e-12);
    free(copy);
    free(x);
    ts_safetensors_close(f);
}

/* Draws must use the golden's uniforms, so that an equal id is not an accident. */
typedef struct {
    const cJSON *u;
    double worst;
} uniforms;

static int note_uniform(void *user, int32_t id, const ts_sample *how)
{
    uniforms *x = user;
    (void)id;
    double e = x->u ? fabs(x->u->valuedouble - how->u) : HUGE_VAL;
    if (!(e <= x->worst))
        x->worst = e >= 0 ? e : HUGE_VAL;
    x->u = x->u ? x->u->next : NULL;
    return 0;
}

static void compare_sample(ts_check *k, const char *name, const ts_generated *got, const cJSON *want,
                           double worst_u)
{
    const cJSON *id = want ? want->child : NULL;
    size_t i = 0;
    for (; i < got->n && id && id->valueint == got->ids[i]; i++)
        id = id->next;
    char detail[256];
    bool same = i == got->n && !id && worst_u == 0;
    snprintf(detail, sizeof detail,
             "%s parts at step %zu: id %d, golden %d; largest difference of a uniform %.3g\n", name, i,
             i < got->n ? got->ids[i] : -1, id ? id->valueint : -1, worst_u);
    ts_report_add(k->report, "ref64 = golden", name, same ? TS_SAME : TS_FAIL, 0, same ? NULL : detail);
}

static ts_status sample_one(ts_check *k, const ts_weights *w, const ts_tokenizer *tok, const cJSON *all,
                            const cJSON *one, ts_error *err)
{
    const char *prompt = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one, "prompt"));
    const cJSON *emitted = cJSON_GetObjectItemCaseSensitive(one, "emitted");
    int32_t *ids = NULL;
    size_t n = 0;
    ts_runner *r = NULL;
    ts_generated got = {0};
    ts_status s = prompt ? ts_tokenizer_encode(tok, prompt, strlen(prompt), &ids, &n, err)
                         : ts_fail(err, TS_BAD, NULL, one->string, "no prompt");
    int64_t max_new = cJSON_GetArraySize(emitted);
    if (!s && (!cJSON_IsArray(emitted) || max_new < 1))
        s = ts_fail(err, TS_BAD, NULL, one->string, "no emitted ids");
    ts_runner_options o = {
        .engine = "ref64", .profile = ts_profile_find("exact"), .capacity = (int64_t)n + max_new, .threads = 1};
    if (!s)
        s = ts_runner_open(w, &o, &r, err);
    uniforms u = {.u = cJSON_GetObjectItemCaseSensitive(one, "u")};
    u.u = u.u ? u.u->child : NULL;
    ts_stepper stepper = {0};
    if (!s)
        stepper = ts_runner_stepper(r);
    ts_generation g = {.stepper = &stepper,
                       .cfg = &w->cfg,
                       .sampling = ts_sampling_default(),
                       .max_new = max_new,
                       .on_token = note_uniform,
                       .user = &u};
    g.sampling.temperature = (float)cJSON_GetObjectItemCaseSensitive(all, "temperature")->valuedouble;
    g.sampling.top_k = (int64_t)cJSON_GetObjectItemCaseSensitive(all, "top_k")->valuedouble;
    g.sampling.top_p = (float)cJSON_GetObjectItemCaseSensitive(all, "top_p")->valuedouble;
    g.sampling.seed = (uint64_t)cJSON_GetObjectItemCaseSensitive(all, "seed")->valuedouble;
    if (!s)
        s = ts_generate_ids(&g, ids, n, &got, err);
    if (!s)
        compare_sample(k, one->string, &got, emitted, u.worst);
    free(got.ids);
    free(ids);
    ts_runner_close(r);
    return s;
}

static ts_status check_params(const char *path, const cJSON *all, ts_error *err)
{
    double x;
    int64_t n;
    ts_status s = ts_json_double(path, all, "temperature", &x, err);
    if (!s)
        s = ts_json_double(path, all, "top_p", &x, err);
    if (!s)
        s = ts_json_int(path, all, "top_k", 0, INT32_MAX, &n, err);
    return s ? s : ts_json_int(path, all, "seed", 0, INT32_MAX, &n, err);
}

void ts_external_sample(ts_check *k, const ts_case *c)
{
    char path[512], tokenizer[600];
    const char *golden = ts_case_string(c, "golden"), *model = ts_case_string(c, "model");
    cJSON *all = NULL;
    ts_tokenizer *tok = NULL;
    const ts_weights *w = NULL;
    ts_error err = {0};
    ts_check_path(k, golden ? golden : "", path, sizeof path);
    ts_status s = ts_json_load(path, &all, &err);
    if (!s)
        s = check_params(path, all, &err);
    if (!s)
        s = ts_check_model(k, model ? model : "", 0, &w, &err);
    if (!s) {
        snprintf(tokenizer, sizeof tokenizer, "%s/%s/tokenizer.json", k->o.golden, model);
        s = ts_tokenizer_open(tokenizer, &tok, &err);
    }
    const cJSON *cases = cJSON_GetObjectItemCaseSensitive(all, "cases"), *one;
    cJSON_ArrayForEach (one, cases)
        if (!s)
            s = sample_one(k, w, tok, all, one, &err);
    if (s)
        ts_report_error(k->report, "ref64 = golden", s, &err);
    ts_tokenizer_close(tok);
    cJSON_Delete(all);
}
