/* touchstone trace: every tensor of a forward pass, as safetensors. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "options.h"
#include "session.h"
#include "tool.h"

static int parse(int argc, char **argv, ts_session *s, const char **out)
{
    const ts_option options[] = {
        {"model", 'm', TS_OPT_TEXT, &s->model, 0, 0, "DIR", "checkpoint folder with tokenizer.json"},
        {"prompt", 'p', TS_OPT_TEXT, &s->prompt, 0, 0, "TEXT", "raw prompt; special tokens are parsed"},
        {"prompt-file", 'f', TS_OPT_TEXT, &s->prompt_file, 0, 0, "FILE", "the same from a file, - is stdin"},
        {"ids", 'i', TS_OPT_TEXT, &s->ids_text, 0, 0, "1,2,3", "token ids instead of a prompt"},
        {"tokens", 'n', TS_OPT_INT, &s->n, 0, INT32_MAX, "N", "then decode N greedy tokens, one by one (0)"},
        {"engine", 'e', TS_OPT_TEXT, &s->engine, 0, 0, "E", "fast (default), ref32 or ref64"},
        {"profile", 0, TS_OPT_TEXT, &s->profile_name, 0, 0, "P", "see touchstone profiles (ts; exact for ref64)"},
        {"with", 0, TS_OPT_LIST, &s->with, 0, 0, "CHOICE=VALUE", "the profile with one choice changed"},
        {"kv", 0, TS_OPT_TEXT, &s->kv_name, 0, 0, "D",
         "dtype of the KV cache: real, bf16, f16, fp8-e4m3, fp8-e5m2 (the profile's)"},
        {"threads", 't', TS_OPT_INT, &s->threads, 1, TS_MAX_THREADS, "N", "of fast; the bits do not depend on it"},
        {"out", 'o', TS_OPT_TEXT, out, 0, 0, "FILE", "the trace, .safetensors"},
        {"json", 0, TS_OPT_FLAG, &s->json, 0, 0, NULL, "the result as a JSON object"},
    };
    ts_command_line c = {
        .usage = "trace --model DIR (--prompt TEXT | --prompt-file FILE | --ids LIST) -o FILE [OPTIONS]",
        .option = options,
        .n = sizeof options / sizeof *options,
    };
    return ts_options_parse(argc, argv, &c);
}

/* The greedy choice of the sampler, from the last row of logits. */
static ts_status choose(const ts_session *s, const void *row, float *f32, uint64_t position, int32_t *id,
                        ts_error *err)
{
    int64_t V = s->weights->cfg.V;
    ts_sampling greedy = ts_sampling_default();
    ts_sample sample = {0};
    bool f64 = ts_runner_dtype(s->runner) == TS_F64;
    for (int64_t i = 0; i < V; i++)
        f32[i] = f64 ? (float)((const double *)row)[i] : ((const float *)row)[i];
    ts_status status = ts_sample_token(&greedy, f32, V, s->ids, s->n_ids, position, &sample, err);
    *id = sample.token;
    return status;
}

/* Prompt in one piece with logits for every row, then s->n tokens one by one; decoded[n] gets them. */
static ts_status run(const ts_session *s, char *logits, float *f32, ts_trace *trace, int32_t *decoded,
                     ts_error *err)
{
    int64_t T = (int64_t)s->n_ids;
    size_t row = (size_t)s->weights->cfg.V *
                 (ts_runner_dtype(s->runner) == TS_F64 ? sizeof(double) : sizeof(float));
    ts_status status = ts_runner_forward(s->runner, s->ids, T, T, logits, trace, err);
    const char *last = logits + (s->n_ids - 1) * row;
    for (int64_t i = 0; !status && i < s->n; i++) {
        status = choose(s, last, f32, (uint64_t)(T + i), &decoded[i], err);
        if (!status)
            status = ts_runner_forward(s->runner, &decoded[i], 1, 1, logits, trace, err);
        last = logits;
    }
    return status;
}

static ts_status write_trace(const ts_session *s, const ts_trace *trace, const int32_t *decoded, const char *path,
                             ts_error *err)
{
    cJSON *ids = ts_ids_json(s->ids, s->n_ids), *more = ts_ids_json(decoded, (size_t)s->n);
    char *ids_text = cJSON_PrintUnformatted(ids), *more_text = cJSON_PrintUnformatted(more);
    ts_status status = ids_text && more_text ? TS_OK : ts_no_memory(err, s->n_ids);
    const ts_meta meta[] = {
        {"schema", "1"},
        {"engine", s->engine},
        {"profile", s->profile->name},
        {"kv", ts_kv_name(s->profile->kv)},
        {"model_sha256", s->weights->sha256},
        {"ids", ids_text},
        {"decoded", more_text},
        {"touchstone", TS_VERSION},
    };
    if (!status)
        status = ts_trace_write(trace, path, meta, sizeof meta / sizeof *meta, err);
    cJSON_free(ids_text);
    cJSON_free(more_text);
    cJSON_Delete(ids);
    cJSON_Delete(more);
    return status;
}

static ts_status make_trace(const ts_session *s, ts_trace *trace, const char *path, ts_error *err)
{
    size_t V = (size_t)s->weights->cfg.V;
    if (s->n_ids > SIZE_MAX / sizeof(double) / V)
        return ts_fail(err, TS_BAD, s->model, NULL, "too many tokens for a trace of the logits");
    char *logits = malloc(s->n_ids * V * sizeof(double));
    float *f32 = malloc(V * sizeof *f32);
    int32_t *decoded = malloc(((size_t)s->n + 1) * sizeof *decoded);
    ts_status status = logits && f32 && decoded && trace ? TS_OK : ts_no_memory(err, s->n_ids * V * sizeof(double));
    if (!status)
        status = run(s, logits, f32, trace, decoded, err);
    if (!status)
        status = write_trace(s, trace, decoded, path, err);
    free(logits);
    free(f32);
    free(decoded);
    return status;
}

static int report(const ts_session *s, const ts_trace *trace, const char *path)
{
    if (!s->json) {
        fprintf(stderr, "%zu tensors of %zu tokens in %s\n", ts_trace_count(trace), s->n_ids + (size_t)s->n, path);
        return TS_OK;
    }
    cJSON *o = ts_tool_json();
    cJSON_AddStringToObject(o, "out", path);
    cJSON_AddStringToObject(o, "engine", s->engine);
    cJSON_AddStringToObject(o, "profile", s->profile->name);
    cJSON_AddStringToObject(o, "kv", ts_kv_name(s->profile->kv));
    cJSON_AddStringToObject(o, "model_sha256", s->weights->sha256);
    cJSON_AddNumberToObject(o, "tensors", (double)ts_trace_count(trace));
    cJSON_AddNumberToObject(o, "tokens", (double)s->n_ids + (double)s->n);
    return ts_tool_print(o, TS_OK);
}

int ts_cmd_trace(int argc, char **argv)
{
    ts_error err = {0};
    ts_session s = ts_session_default(0);
    const char *out = NULL;
    int done = parse(argc, argv, &s, &out);
    if (done != TS_GO_ON)
        return done;
    ts_trace *trace = ts_trace_new();
    ts_status status = out ? ts_session_open(&s, &err) : ts_fail(&err, TS_USAGE, NULL, "--out", "is required");
    if (!status)
        status = ts_weights_hash(s.weights, &err);
    if (!status)
        status = make_trace(&s, trace, out, &err);
    int code = status ? ts_tool_fail(status, &err, s.json) : report(&s, trace, out);
    ts_trace_free(trace);
    ts_session_close(&s);
    return code;
}
