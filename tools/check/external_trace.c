/* Whole-model float64 traces: every tensor of the golden has its counterpart
 * in ref64, computed the way the golden was (prefill in one call, then steps). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/external.h"
#include "ref.h"

static const double LIMIT = 2e-13; /* two float64 codings differ by 8e-14 (docs/contract.md, 1) */

/* One sequence of the golden: names start with `prefix` ("" or "t70."). */
typedef struct {
    ts_check *k;
    const ts_safetensors *golden;
    char prefix[16];
    const ts_weights *w;
    ts_ref_model *m;
    int32_t *ids;
    int64_t T, split; /* split: tokens prefilled before stepping; T if the golden has no steps */
    ts_trace *whole, *steps;
    bool *seen; /* per golden tensor */
} sequence;

/* Is `name` of this sequence, and what is it called without the prefix? */
static const char *own_name(const sequence *s, const char *name)
{
    size_t len = strlen(s->prefix);
    if (strncmp(name, s->prefix, len) != 0)
        return NULL;
    if (len == 0 && name[0] == 't' && strchr("0123456789", name[1]))
        return NULL;
    return name + len;
}

/* The last rows of x that golden has (the golden keeps the last 16 of long logits). */
static ts_tensor tail(const ts_tensor *x, const ts_tensor *golden)
{
    ts_tensor t = *x;
    if (x->ndim == golden->ndim && x->ndim > 0 && golden->dim[0] < x->dim[0]) {
        size_t row = x->size / (size_t)x->dim[0];
        t.dim[0] = golden->dim[0];
        t.size = row * (size_t)t.dim[0];
        t.data = (const char *)x->data + (size_t)(x->dim[0] - t.dim[0]) * row;
    }
    return t;
}

static void compare(sequence *s, const ts_trace *trace, const char *what)
{
    for (size_t i = 0; i < ts_safetensors_count(s->golden); i++) {
        const ts_tensor *g = ts_safetensors_at(s->golden, i);
        const char *name = own_name(s, g->name);
        const ts_tensor *x = name ? ts_trace_find(trace, name) : NULL;
        if (!x)
            continue;
        s->seen[i] = true;
        ts_tensor t = strcmp(name, "logits") == 0 ? tail(x, g) : *x;
        ts_check_close(s->k, what, &t, g, LIMIT);
    }
}

/* All T tokens in one call. */
static ts_status run_whole(sequence *s, ts_error *err)
{
    ts_ref_state *state = NULL;
    int64_t rows = s->T;
    double *logits = malloc((size_t)(rows * s->w->cfg.V) * sizeof *logits);
    ts_status status = logits ? ts_ref64.state_new(s->m, s->T, &state, err)
                              : ts_no_memory(err, (unsigned long)rows);
    if (!status)
        status = ts_ref64.forward(s->m, state, s->ids, s->T, rows, logits, s->whole, err);
    if (!status)
        ts_ref64.state_trace(s->m, state, ".final", s->whole);
    ts_ref64.state_free(state);
    free(logits);
    return status;
}

/* `split` tokens in one call, the rest one at a time. */
static ts_status run_steps(sequence *s, ts_error *err)
{
    ts_ref_state *state = NULL;
    int64_t V = s->w->cfg.V;
    double *logits = malloc((size_t)V * sizeof *logits);
    ts_status status = logits ? ts_ref64.state_new(s->m, s->T, &state, err) : ts_no_memory(err, (unsigned long)V);
    for (int64_t t = 0, n = s->split; !status && t < s->T; t += n, n = 1) {
        status = ts_ref64.forward(s->m, state, s->ids + t, n, 1, logits, NULL, err);
        if (status)
            break;
        ts_trace_put(s->steps, "step_logits", TS_F64, 2, (int64_t[]){1, V}, logits);
        if (t == 0)
            ts_ref64.state_trace(s->m, state, ".after_prefill", s->steps);
    }
    if (!status)
        ts_ref64.state_trace(s->m, state, ".final", s->steps);
    ts_ref64.state_free(state);
    free(logits);
    return status;
}

static double top2_margin(const double *x, int64_t n, int32_t *best)
{
    int64_t a = 0;
    double second = -HUGE_VAL;
    for (int64_t i = 1; i < n; i++)
        if (x[i] > x[a]) {
            second = x[a];
            a = i;
        } else if (x[i] > second) {
            second = x[i];
        }
    *best = (int32_t)a;
    return x[a] - second;
}

/* Continues greedily from the whole input: ids equal, margins close. */
static ts_status run_greedy(sequence *s, const ts_tensor *golden, ts_error *err)
{
    ts_ref_state *state = NULL;
    int64_t V = s->w->cfg.V, n = ts_tensor_count(golden), i = 0;
    double *logits = malloc((size_t)V * sizeof *logits);
    ts_status status = logits ? ts_ref64.state_new(s->m, s->T + n, &state, err)
                              : ts_no_memory(err, (unsigned long)V);
    if (!status)
        status = ts_ref64.forward(s->m, state, s->ids, s->T, 1, logits, NULL, err);
    for (; !status && i < n; i++) {
        int32_t id;
        double margin = top2_margin(logits, V, &id);
        ts_trace_put(s->steps, "greedy_ids", TS_I32, 1, (int64_t[]){1}, &id);
        ts_trace_put(s->steps, "greedy_margin", TS_F64, 1, (int64_t[]){1}, &margin);
        bool stopped_early = ts_config_is_stop(&s->w->cfg, id) && i + 1 < n;
        if (stopped_early || id != (int32_t)ts_tensor_get(golden, i))
            break;
        if (i + 1 < n)
            status = ts_ref64.forward(s->m, state, &id, 1, 1, logits, NULL, err);
    }
    if (!status) {
        char detail[128];
        snprintf(detail, sizeof detail, "the streams part at step %lld of %lld\n", (long long)i, (long long)n);
        ts_report_add(s->k->report, "ref64 = golden", "greedy_ids", i == n ? TS_SAME : TS_FAIL, 0,
                      i == n ? NULL : detail);
    }
    ts_ref64.state_free(state);
    free(logits);
    return status;
}

static void mark(sequence *s, const char *name)
{
    for (size_t i = 0; i < ts_safetensors_count(s->golden); i++) {
        const char *own = own_name(s, ts_safetensors_at(s->golden, i)->name);
        if (own && strcmp(own, name) == 0)
            s->seen[i] = true;
    }
}

static ts_status run_sequence(sequence *s, ts_error *err)
{
    ts_status status = run_whole(s, err);
    if (!status)
        status = run_steps(s, err);
    const ts_tensor *greedy = s->prefix[0] ? NULL : ts_safetensors_find(s->golden, "greedy_ids");
    if (!status && greedy)
        status = run_greedy(s, greedy, err);
    if (!status) {
        compare(s, s->whole, "ref64 ~ golden");
        compare(s, s->steps, "ref64 ~ golden (steps)");
        mark(s, "input_ids");
    }
    return status;
}

/* How many tokens were prefilled: T - step_logits rows + 1. */
static int64_t split_of(const sequence *s)
{
    char name[48];
    snprintf(name, sizeof name, "%.15sstep_logits", s->prefix);
    const ts_tensor *steps = ts_safetensors_find(s->golden, name);
    int64_t split = steps && steps->ndim == 2 ? s->T - steps->dim[0] + 1 : s->T;
    return split < 1 || split > s->T ? s->T : split;
}

static void one_sequence(ts_check *k, const ts_safetensors *golden, const ts_tensor *ids, const ts_weights *w,
                         ts_ref_model *m, bool *seen)
{
    ts_error err = {0};
    sequence s = {.k = k,
                  .golden = golden,
                  .w = w,
                  .m = m,
                  .seen = seen,
                  .T = ts_tensor_count(ids),
                  .ids = ts_external_copy(ids),
                  .whole = ts_trace_new(),
                  .steps = ts_trace_new()};
    snprintf(s.prefix, sizeof s.prefix, "%.*s", (int)(strlen(ids->name) - strlen("input_ids")), ids->name);
    s.split = split_of(&s);
    ts_status status = s.ids && s.whole && s.steps && s.T > 0 ? run_sequence(&s, &err)
                                                              : ts_fail(&err, TS_BAD, ts_safetensors_path(golden),
                                                                        ids->name, "empty, or out of memory");
    if (status)
        ts_report_error(k->report, "ref64 ~ golden", status, &err);
    ts_trace_free(s.whole);
    ts_trace_free(s.steps);
    free(s.ids);
}

static ts_status load_weights(ts_check *k, const ts_case *c, ts_weights **owned, const ts_weights **w,
                              ts_error *err)
{
    const char *model = ts_case_string(c, "model"), *config = ts_case_string(c, "config"),
               *weights = ts_case_string(c, "weights");
    if (model)
        return ts_check_model(k, model, 0, w, err);
    if (!config || !weights)
        return ts_fail(err, TS_BAD, c->path, NULL, "needs model, or config and weights");
    char a[512], b[512];
    ts_check_path(k, config, a, sizeof a);
    ts_check_path(k, weights, b, sizeof b);
    ts_status s = ts_weights_load_files(a, b, owned, err);
    *w = *owned;
    return s;
}

static bool is_input(const char *name)
{
    size_t len = strlen(name), tail_len = strlen("input_ids");
    return len >= tail_len && len - tail_len < 16 && strcmp(name + len - tail_len, "input_ids") == 0;
}

static void all_sequences(ts_check *k, const ts_safetensors *golden, const ts_weights *w, ts_ref_model *m)
{
    size_t n = ts_safetensors_count(golden);
    bool *seen = calloc(n + 1, sizeof *seen);
    for (size_t i = 0; seen && i < n; i++) {
        const ts_tensor *t = ts_safetensors_at(golden, i);
        if (is_input(t->name) && t->dtype == TS_I32)
            one_sequence(k, golden, t, w, m, seen);
    }
    for (size_t i = 0; i < n; i++)
        if (!seen || !seen[i])
            ts_report_add(k->report, "ref64 ~ golden", ts_safetensors_at(golden, i)->name, TS_FAIL, 0,
                          "nothing was compared with this tensor\n");
    free(seen);
}

void ts_external_trace(ts_check *k, const ts_case *c)
{
    ts_safetensors *golden = NULL;
    ts_weights *owned = NULL;
    const ts_weights *w = NULL;
    ts_ref_model *m = NULL;
    ts_error err = {0};
    ts_status s = ts_external_open(k, c, "golden", &golden, &err);
    if (!s)
        s = load_weights(k, c, &owned, &w, &err);
    if (!s)
        s = ts_ref64.model_new(w, ts_profile_find("exact"), &m, &err);
    if (s)
        ts_report_error(k->report, "ref64 ~ golden", s, &err);
    else
        all_sequences(k, golden, w, m);
    ts_ref64.model_free(m);
    ts_weights_free(owned);
    ts_safetensors_close(golden);
}
