/* touchstone layer: one layer of a model on the user's own hidden states. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"
#include "options.h"
#include "runner.h"
#include "session.h"
#include "tool.h"

typedef struct {
    const char *model, *in_path, *out_path, *engine, *profile_name;
    int64_t layer, threads;
    bool json;
    const ts_profile *profile;
    ts_weights *w;
    ts_weights view; /* of w: a model of this layer only, so that no other has a state */
    ts_inputs in;
    ts_runner *runner;
    ts_real_as as;
    int64_t T, pos;
    void *x, *state[2]; /* conv_state and recurrent_state, or k and v */
} job;

static int parse(int argc, char **argv, job *j)
{
    const ts_option options[] = {
        {"model", 'm', TS_OPT_TEXT, &j->model, 0, 0, "DIR", "checkpoint folder; only the layer is read"},
        {"layer", 'l', TS_OPT_INT, &j->layer, 0, INT32_MAX, "N", "which one, from 0"},
        {"in", 'i', TS_OPT_TEXT, &j->in_path, 0, 0, "FILE", "x [T,C], and optionally the state; .safetensors"},
        {"out", 'o', TS_OPT_TEXT, &j->out_path, 0, 0, "FILE", "the trace, .safetensors"},
        {"engine", 'e', TS_OPT_TEXT, &j->engine, 0, 0, "E", "fast (default), ref32 or ref64"},
        {"profile", 0, TS_OPT_TEXT, &j->profile_name, 0, 0, "P", "see touchstone profiles (ts; exact for ref64)"},
        {"threads", 't', TS_OPT_INT, &j->threads, 1, TS_MAX_THREADS, "N", "of fast; the bits do not depend on it"},
        {"json", 0, TS_OPT_FLAG, &j->json, 0, 0, NULL, "the result as a JSON object"},
    };
    ts_command_line c = {
        .usage = "layer --model DIR --layer N --in FILE -o FILE [OPTIONS]",
        .option = options,
        .n = sizeof options / sizeof *options,
    };
    return ts_options_parse(argc, argv, &c);
}

static ts_status check_usage(job *j, ts_error *err)
{
    const char *missing = !j->model      ? "--model"
                          : j->layer < 0 ? "--layer"
                          : !j->in_path  ? "--in"
                          : !j->out_path ? "--out"
                                         : NULL;
    if (missing)
        return ts_fail(err, TS_USAGE, NULL, missing, "is required");
    bool wide = strcmp(j->engine, "ref64") == 0;
    const char *name = j->profile_name ? j->profile_name : wide ? "exact" : "ts";
    j->profile = ts_profile_find(name);
    j->as = wide ? TS_AS_F64 : TS_AS_F32;
    if (!j->profile)
        return ts_fail(err, TS_USAGE, NULL, "--profile", "'%s' is none of %s", name, ts_profile_names());
    return ts_runner_check_engine(j->engine, err);
}

/* Reals of a tensor of exactly those dims, dims of 1 in front of them left out. */
static ts_status take(job *j, const ts_tensor *t, int ndim, const int64_t *dim, void **data, ts_error *err)
{
    int extra = t->ndim - ndim;
    bool same = extra >= 0;
    for (int i = 0; i < t->ndim && same; i++)
        same = t->dim[i] == (i < extra ? 1 : dim[i - extra]);
    if (!same) {
        char wants[TS_SHAPE_TEXT];
        ts_shape_text(ndim, dim, wants, sizeof wants);
        return ts_fail(err, TS_BAD, j->in.path, t->name, "wants shape %s", wants);
    }
    size_t n = (size_t)ts_tensor_count(t);
    *data = calloc(n + 1, j->as == TS_AS_F32 ? sizeof(float) : sizeof(double));
    return *data ? ts_inputs_real(&j->in, t, j->as, *data, err) : ts_no_memory(err, n * sizeof(double));
}

static ts_status take_x(job *j, ts_error *err)
{
    const ts_tensor *t = ts_inputs_find(&j->in, "x");
    if (!t)
        return ts_fail(err, TS_BAD, j->in.path, "x", "missing: the layer's input [T,C]");
    j->T = t->ndim >= 2 ? t->dim[t->ndim - 2] : 0;
    if (j->T < 1)
        return ts_fail(err, TS_BAD, j->in.path, "x", "wants shape [T,%lld], T at least 1", (long long)j->w->cfg.C);
    return take(j, t, 2, (int64_t[]){j->T, j->w->cfg.C}, &j->x, err);
}

static ts_status take_pos(job *j, int64_t earlier, ts_error *err)
{
    const ts_tensor *t = ts_inputs_find(&j->in, "pos");
    int64_t most = j->w->cfg.max_positions;
    j->pos = earlier;
    if (t && ts_tensor_count(t) != 1)
        return ts_fail(err, TS_BAD, j->in.path, "pos", "must be one integer");
    if (t && ts_inputs_int(&j->in, t, 0, most, &j->pos, err))
        return TS_BAD;
    if (j->view.cfg.full[0] && j->pos != earlier)
        return ts_fail(err, TS_BAD, j->in.path, "pos", "%lld, but k and v hold %lld earlier tokens",
                       (long long)j->pos, (long long)earlier);
    if (j->T > most - j->pos)
        return ts_fail(err, TS_BAD, j->in.path, "x",
                       "%lld tokens at position %lld exceed the model's %lld positions", (long long)j->T,
                       (long long)j->pos, (long long)most);
    return TS_OK;
}

/* A state by its short name, or as a run wrote it: "conv_state", "cache.N.conv_states". */
static ts_status find_state(job *j, const char *name, const char *written, const ts_tensor **out, ts_error *err)
{
    char cache[64];
    snprintf(cache, sizeof cache, "cache.%lld.%s", (long long)j->layer, written);
    const ts_tensor *plain = ts_inputs_find(&j->in, name), *dumped = ts_inputs_find(&j->in, cache);
    *out = plain ? plain : dumped;
    return plain && dumped ? ts_fail(err, TS_BAD, j->in.path, cache, "is the same state as %s: give one", name)
                           : TS_OK;
}

/* What a run writes beside the state may stay in the file. */
static void pass_over_outputs(job *j)
{
    static const char *const linear[] = {"qkv", "conv", "q", "k", "v", "beta", "g", "z", "o", NULL},
                             *const full[] = {"q", "gate", "k", "v", "latent", "shared_key", "attn", NULL},
                             *const both[] = {"input_norm", "gated",   "mixer",  "mid",    "post_norm",
                                              "gate_proj",  "up_proj", "swiglu", "router", "expert_weight",
                                              "experts",    "shared",  "mlp",    "out",    NULL};
    const char *const *const list[] = {both, j->view.cfg.full[0] ? full : linear};
    char name[64];
    for (int k = 0; k < 2; k++)
        for (int i = 0; list[k][i]; i++) {
            snprintf(name, sizeof name, "layer.%lld.%s", (long long)j->layer, list[k][i]);
            ts_inputs_find(&j->in, name);
        }
}

/* Linear attention: each state by itself may be left out and is then zero. */
static ts_status take_recurrent(job *j, ts_error *err)
{
    const ts_config *c = &j->w->cfg;
    const ts_tensor *conv, *s;
    ts_status status = find_state(j, "conv_state", "conv_states", &conv, err);
    if (!status)
        status = find_state(j, "recurrent_state", "recurrent_states", &s, err);
    if (!status)
        status = take_pos(j, 0, err);
    if (!status && conv)
        status = take(j, conv, 2, (int64_t[]){2 * c->Hk * c->Dk + c->Hv * c->Dv, c->W}, &j->state[0], err);
    if (!status && s)
        status = take(j, s, 3, (int64_t[]){c->Hv, c->Dk, c->Dv}, &j->state[1], err);
    return status;
}

static ts_status take_kv(job *j, ts_error *err)
{
    const ts_config *c = &j->w->cfg;
    const ts_tensor *k, *v;
    ts_status status = find_state(j, "k", "k", &k, err);
    if (!status)
        status = find_state(j, "v", "v", &v, err);
    if (status)
        return status;
    if (!k != !v)
        return ts_fail(err, TS_BAD, j->in.path, k ? "v" : "k", "missing: k and v come together");
    int64_t earlier = k && k->ndim >= 2 ? k->dim[k->ndim - 2] : 0;
    const bool latent = c->family == TS_FAMILY_KIMI;
    status = take_pos(j, earlier, err);
    if (!status && k)
        status = take(j, k, 3, (int64_t[]){c->Hkv, earlier, latent ? c->rank : c->D}, &j->state[0], err);
    if (!status && v)
        status = take(j, v, 3, (int64_t[]){c->Hkv, earlier, latent ? c->Dr : c->D}, &j->state[1], err);
    return status;
}

static ts_status load(job *j, ts_error *err)
{
    ts_status status = ts_inputs_open(j->in_path, &j->in, err);
    if (!status)
        status = ts_weights_load_part(j->model, j->layer, NULL, &j->w, err);
    if (status)
        return status;
    j->view = *j->w;
    j->view.cfg.layers = 1;
    j->view.cfg.full[0] = j->w->cfg.full[j->layer];
    j->view.cfg.moe.layer[0] = j->w->cfg.moe.layer[j->layer];
    j->view.layer = &j->w->layer[j->layer];
    status = take_x(j, err);
    if (!status)
        status = j->view.cfg.full[0] ? take_kv(j, err) : take_recurrent(j, err);
    pass_over_outputs(j);
    return status ? status
                  : ts_inputs_done(&j->in,
                                   j->view.cfg.full[0]
                                       ? "a full attention layer: x, k, v, pos"
                                       : "a linear attention layer: x, conv_state, recurrent_state, pos",
                                   err);
}

static ts_status run(job *j, ts_trace *trace, ts_error *err)
{
    ts_runner_options o = {
        .engine = j->engine, .profile = j->profile, .capacity = j->pos + j->T, .threads = (int)j->threads};
    ts_status status = ts_runner_open(&j->view, &o, &j->runner, err);
    if (!status)
        status = ts_runner_state_put(j->runner, 0, j->pos, j->state[0], j->state[1], err);
    if (!status)
        status = ts_runner_layer(j->runner, 0, j->x, j->T, trace, err);
    if (!status)
        ts_runner_state_trace(j->runner, "", trace);
    return status;
}

/* The view's only layer is 0; the user asked for another: "layer.0.out" -> "layer.N.out", likewise cache. */
static ts_status rename_all(const job *j, const ts_trace *from, ts_trace *to, ts_error *err)
{
    char name[96];
    if (!to)
        return ts_no_memory(err, sizeof name);
    for (size_t i = 0; i < ts_trace_count(from); i++) {
        const ts_tensor *t = ts_trace_at(from, i);
        const char *dot = strchr(t->name, '.');
        snprintf(name, sizeof name, "%.*s.%lld%s", (int)(dot - t->name), t->name, (long long)j->layer, dot + 2);
        ts_trace_put(to, name, t->dtype, t->ndim, t->dim, t->data);
    }
    return TS_OK;
}

static ts_status write_trace(const job *j, const ts_trace *trace, ts_error *err)
{
    char layer[24], pos[24];
    snprintf(layer, sizeof layer, "%lld", (long long)j->layer);
    snprintf(pos, sizeof pos, "%lld", (long long)j->pos);
    const ts_meta meta[] = {
        {"schema", "1"},  {"engine", j->engine}, {"profile", j->profile->name}, {"model", j->model},
        {"layer", layer}, {"pos", pos},          {"touchstone", TS_VERSION},
    };
    return ts_trace_write(trace, j->out_path, meta, sizeof meta / sizeof *meta, err);
}

static int report(const job *j, const ts_trace *trace)
{
    if (!j->json) {
        fprintf(stderr, "%zu tensors of layer %lld, %lld tokens from position %lld, in %s\n", ts_trace_count(trace),
                (long long)j->layer, (long long)j->T, (long long)j->pos, j->out_path);
        return TS_OK;
    }
    cJSON *o = ts_tool_json();
    cJSON_AddStringToObject(o, "out", j->out_path);
    cJSON_AddStringToObject(o, "engine", j->engine);
    cJSON_AddStringToObject(o, "profile", j->profile->name);
    cJSON_AddNumberToObject(o, "layer", (double)j->layer);
    cJSON_AddNumberToObject(o, "tensors", (double)ts_trace_count(trace));
    cJSON_AddNumberToObject(o, "tokens", (double)j->T);
    cJSON_AddNumberToObject(o, "pos", (double)j->pos);
    return ts_tool_print(o, TS_OK);
}

int ts_cmd_layer(int argc, char **argv)
{
    ts_error err = {0};
    job j = {.layer = -1, .engine = "fast", .threads = ts_session_default(0).threads};
    int done = parse(argc, argv, &j);
    if (done != TS_GO_ON)
        return done;
    ts_trace *trace = ts_trace_new(), *named = ts_trace_new();
    ts_status status = trace ? check_usage(&j, &err) : ts_no_memory(&err, 0);
    if (!status)
        status = load(&j, &err);
    if (!status)
        status = run(&j, trace, &err);
    if (!status)
        status = rename_all(&j, trace, named, &err);
    if (!status)
        status = write_trace(&j, named, &err);
    int code = status ? ts_tool_fail(status, &err, j.json) : report(&j, named);
    ts_runner_close(j.runner);
    ts_trace_free(trace);
    ts_trace_free(named);
    free(j.x);
    free(j.state[0]);
    free(j.state[1]);
    ts_inputs_close(&j.in);
    ts_weights_free(j.w);
    return code;
}
