/* touchstone run: generate text with one of the engines. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/generation.h"
#include "format/json.h"
#include "options.h"
#include "run_draft.h"
#include "session.h"
#include "tool.h"

typedef struct {
    ts_session session;
    ts_run_draft draft;
    ts_sampling sampling;
    /* as options gave them; NAN, -1: not given */
    float temperature, top_p, min_p, repetition;
    int64_t top_k;
    bool from_model; /* what is not given is as the model's generation_config.json says */
    const char *record;
    /* text on its way out; with --json it is kept to the end */
    ts_utf8_stream utf8;
    char *text;
    size_t n, room;
    ts_status failed; /* of the output, explained by err */
    ts_error *err;
} job;

static int parse(int argc, char **argv, job *j)
{
    ts_session *s = &j->session;
    ts_sampling *p = &j->sampling;
    const ts_option options[] = {
        {"model", 'm', TS_OPT_TEXT, &s->model, 0, 0, "DIR", "checkpoint folder with tokenizer.json"},
        {"prompt", 'p', TS_OPT_TEXT, &s->prompt, 0, 0, "TEXT", "raw prompt; special tokens are parsed"},
        {"prompt-file", 'f', TS_OPT_TEXT, &s->prompt_file, 0, 0, "FILE", "the same from a file, - is stdin"},
        {"chat", 0, TS_OPT_FLAG, &s->chat, 0, 0, NULL, "the prompt is a user's message: ChatML goes around it"},
        {"system", 0, TS_OPT_TEXT, &s->system, 0, 0, "TEXT", "with --chat: a system message before it"},
        {"no-think", 0, TS_OPT_FLAG, &s->no_think, 0, 0, NULL,
         "with --chat: the answer starts after an empty <think>"},
        {"tokens", 'n', TS_OPT_INT, &s->n, 1, INT32_MAX, "N", "tokens to generate (128)"},
        {"engine", 'e', TS_OPT_TEXT, &s->engine, 0, 0, "E", "fast (default), ref32 or ref64"},
        {"profile", 0, TS_OPT_TEXT, &s->profile_name, 0, 0, "P", "see touchstone profiles (ts; exact for ref64)"},
        {"with", 0, TS_OPT_LIST, &s->with, 0, 0, "CHOICE=VALUE", "the profile with one choice changed"},
        {"kv", 0, TS_OPT_TEXT, &s->kv_name, 0, 0, "D",
         "dtype of the KV cache: real, bf16, f16, fp8-e4m3, fp8-e5m2 (the profile's)"},
        {"threads", 't', TS_OPT_INT, &s->threads, 1, TS_MAX_THREADS, "N", "of fast; the bits do not depend on it"},
        {"temperature", 0, TS_OPT_REAL, &j->temperature, 0, 0, "X", "0: greedy (default)"},
        {"top-k", 0, TS_OPT_INT, &j->top_k, 0, INT32_MAX, "K", "0: off (default)"},
        {"top-p", 0, TS_OPT_REAL, &j->top_p, 0, 0, "X", "0 or 1: off (1)"},
        {"min-p", 0, TS_OPT_REAL, &j->min_p, 0, 0, "X", "0: off (default)"},
        {"repetition-penalty", 0, TS_OPT_REAL, &j->repetition, 0, 0, "X", "1: off (default)"},
        {"use-generation-config", 0, TS_OPT_FLAG, &j->from_model, 0, 0, NULL,
         "those five as the model's generation_config.json says, unless given"},
        {"frequency-penalty", 0, TS_OPT_REAL, &p->frequency, 0, 0, "X", "0: off (default)"},
        {"presence-penalty", 0, TS_OPT_REAL, &p->presence, 0, 0, "X", "0: off (default)"},
        {"penalty-window", 0, TS_OPT_INT, &p->window, 0, INT32_MAX, "N", "last ids that count (64)"},
        {"seed", 's', TS_OPT_U64, &p->seed, 0, 0, "N", "of the draws (0)"},
        {"draft", 0, TS_OPT_TEXT, &j->draft.kind, 0, 0, "D", "speculate: mtp or dflash2 propose tokens"},
        {"draft-model", 0, TS_OPT_TEXT, &j->draft.model, 0, 0, "FILE",
         "the drafter (mtp.safetensors, dflash2.safetensors beside the model)"},
        {"k", 0, TS_OPT_INT, &j->draft.k, 1, TS_MAX_DRAFT, "N", "proposals a round (3; dflash2 a block)"},
        {"verify", 0, TS_OPT_TEXT, &j->draft.verify, 0, 0, "V",
         "greedy, ratio, match, point or block (match, or greedy without temperature)"},
        {"rounds", 0, TS_OPT_TEXT, &j->draft.rounds, 0, 0, "FILE", "write the record of every round, a line each"},
        {"along", 0, TS_OPT_TEXT, &j->draft.along, 0, 0, "FILE",
         "lead the run along the rounds of another's record (stats then compares them round by round)"},
        {"hash-state", 0, TS_OPT_FLAG, &j->draft.hash, 0, 0, NULL, "with the hashes of the state after it"},
        {"record", 'r', TS_OPT_TEXT, &j->record, 0, 0, "FILE", "write what was run and what came out"},
        {"json", 0, TS_OPT_FLAG, &s->json, 0, 0, NULL, "the result as one JSON object instead of text"},
    };
    ts_command_line c = {
        .usage = "run --model DIR (--prompt TEXT | --prompt-file FILE) [OPTIONS]",
        .option = options,
        .n = sizeof options / sizeof *options,
    };
    return ts_options_parse(argc, argv, &c);
}

static bool make_room(job *j, size_t more)
{
    if (j->room - j->n >= more)
        return true;
    size_t room = 2 * (j->n + more);
    char *text = realloc(j->text, room);
    if (!text) {
        j->failed = ts_no_memory(j->err, room);
        return false;
    }
    j->text = text;
    j->room = room;
    return true;
}

/* Streams what has been decoded so far, unless it is wanted as JSON later. */
static void emit(job *j)
{
    if (j->session.json)
        return;
    if (fwrite(j->text, 1, j->n, stdout) != j->n || fflush(stdout))
        j->failed = ts_fail(j->err, TS_BAD, "stdout", NULL, "%s", strerror(errno));
    j->n = 0;
}

/* The stop token and ids without a token (padding rows of the vocabulary) have no text. */
static int say(void *user, int32_t id)
{
    job *j = user;
    size_t size = 0;
    const char *bytes = ts_tokenizer_bytes(j->session.tokenizer, id, &size);
    if (!bytes || ts_config_is_stop(&j->session.weights->cfg, id) || !make_room(j, 3 * size + 4))
        return j->failed != TS_OK;
    j->n += ts_utf8_push(&j->utf8, bytes, size, j->text + j->n);
    emit(j);
    return j->failed != TS_OK;
}

static int on_token(void *user, int32_t id, const ts_sample *how)
{
    (void)how;
    return say(user, id);
}

static void end_text(job *j)
{
    if (j->failed || !make_room(j, 16))
        return;
    j->n += ts_utf8_flush(&j->utf8, j->text + j->n);
    if (!j->session.json)
        j->text[j->n++] = '\n';
    emit(j);
}

static cJSON *sampling_json(const ts_sampling *s)
{
    char seed[24];
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "temperature", (double)s->temperature);
    cJSON_AddNumberToObject(o, "top_k", (double)s->top_k);
    cJSON_AddNumberToObject(o, "top_p", (double)s->top_p);
    cJSON_AddNumberToObject(o, "min_p", (double)s->min_p);
    cJSON_AddNumberToObject(o, "repetition", (double)s->repetition);
    cJSON_AddNumberToObject(o, "frequency", (double)s->frequency);
    cJSON_AddNumberToObject(o, "presence", (double)s->presence);
    cJSON_AddNumberToObject(o, "window", (double)s->window);
    snprintf(seed, sizeof seed, "%" PRIu64, s->seed);
    cJSON_AddStringToObject(o, "seed", seed);
    return o;
}

static cJSON *record_json(const job *j, const ts_generated *g)
{
    const ts_session *s = &j->session;
    cJSON *o = ts_tool_json();
    cJSON_AddStringToObject(o, "model", s->model);
    cJSON_AddStringToObject(o, "model_sha256", s->weights->sha256);
    cJSON_AddStringToObject(o, "engine", s->engine);
    cJSON_AddStringToObject(o, "profile", s->profile->name);
    cJSON_AddStringToObject(o, "kv", ts_kv_name(s->profile->kv));
    cJSON_AddNumberToObject(o, "threads", (double)s->threads);
    cJSON_AddItemToObject(o, "sampling", sampling_json(&j->sampling));
    cJSON_AddStringToObject(o, "prompt", s->text);
    cJSON_AddItemToObject(o, "prompt_ids", ts_ids_json(s->ids, s->n_ids));
    cJSON_AddItemToObject(o, "ids", ts_ids_json(g->ids, g->n));
    cJSON_AddStringToObject(o, "stop", g->stopped ? "eos" : "length");
    ts_run_draft_json(&j->draft, o);
    return o;
}

static ts_status write_record(const job *j, const ts_generated *g, ts_error *err)
{
    cJSON *o = record_json(j, g);
    ts_status status = o ? ts_json_save(j->record, o, err) : ts_no_memory(err, sizeof *g);
    cJSON_Delete(o);
    return status;
}

/* Generated text may hold NUL, which a C string of cJSON cannot. */
static cJSON *text_json(const char *text, size_t n)
{
    char *y = malloc(6 * n + 3), *p = y;
    if (!y)
        return NULL;
    *p++ = '"';
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20)
            p += sprintf(p, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            *p++ = '\\', *p++ = (char)c;
        else
            *p++ = (char)c;
    }
    *p++ = '"';
    *p = '\0';
    cJSON *o = cJSON_CreateRaw(y);
    free(y);
    return o;
}

static void add_speed(cJSON *o, const char *key, size_t tokens, double seconds)
{
    cJSON *e = cJSON_AddObjectToObject(o, key);
    cJSON_AddNumberToObject(e, "tokens", (double)tokens);
    cJSON_AddNumberToObject(e, "seconds", seconds);
}

static double speed(size_t steps, double seconds)
{
    return seconds > 0 ? (double)steps / seconds : 0;
}

static int report(const job *j, const ts_generated *g)
{
    size_t prompt = j->session.n_ids, steps = g->n ? g->n - 1 : 0; /* the first id is prefill's */
    fprintf(stderr, "prefill %zu tokens, %.1f tok/s; decode %zu tokens, %.1f tok/s\n", prompt,
            speed(prompt, g->prefill_seconds), g->n, speed(steps, g->decode_seconds));
    ts_run_draft_report(&j->draft);
    if (!j->session.json)
        return TS_OK;
    cJSON *o = record_json(j, g);
    cJSON_AddItemToObject(o, "text", text_json(j->text, j->n));
    add_speed(o, "prefill", prompt, g->prefill_seconds);
    add_speed(o, "decode", g->n, g->decode_seconds);
    return ts_tool_print(o, TS_OK);
}

/* As f32: below the least normal number 1/T and the penalty's inverse are infinite. */
static ts_status check_given(const job *j, ts_error *err)
{
    const float tiny = 0x1p-126f;
    if (j->temperature < 0 || (j->temperature > 0 && j->temperature < tiny))
        return ts_fail(err, TS_USAGE, NULL, "--temperature", "%g is neither 0 nor within 1.2e-38..3.4e38",
                       (double)j->temperature);
    if (j->top_p < 0 || j->top_p > 1)
        return ts_fail(err, TS_USAGE, NULL, "--top-p", "%g is not within 0..1", (double)j->top_p);
    if (j->min_p < 0 || j->min_p > 1)
        return ts_fail(err, TS_USAGE, NULL, "--min-p", "%g is not within 0..1", (double)j->min_p);
    if (j->repetition < tiny)
        return ts_fail(err, TS_USAGE, NULL, "--repetition-penalty", "%g is not within 1.2e-38..3.4e38",
                       (double)j->repetition);
    return TS_OK;
}

/* An option given wins over the model's file, and that over the defaults. */
static ts_status choose_sampling(job *j, ts_error *err)
{
    ts_sampling *p = &j->sampling;
    ts_generation_config g = {p->temperature, p->top_k, p->top_p, p->min_p, p->repetition};
    if (j->from_model && !j->session.model)
        return ts_fail(err, TS_USAGE, NULL, "--model", "is required");
    ts_status status = check_given(j, err);
    if (!status && j->from_model)
        status = ts_generation_config_load(j->session.model, &g, err);
    if (status)
        return status;
    p->temperature = isnan(j->temperature) ? g.temperature : j->temperature;
    p->top_k = j->top_k < 0 ? g.top_k : j->top_k;
    p->top_p = isnan(j->top_p) ? g.top_p : j->top_p;
    p->min_p = isnan(j->min_p) ? g.min_p : j->min_p;
    p->repetition = isnan(j->repetition) ? g.repetition : j->repetition;
    return ts_sampling_check(p, err) ? TS_USAGE : TS_OK;
}

static ts_status generate_plain(job *j, ts_generated *g, ts_error *err)
{
    ts_session *s = &j->session;
    ts_stepper stepper = ts_runner_stepper(s->runner);
    ts_generation how = {
        .stepper = &stepper,
        .cfg = &s->weights->cfg,
        .sampling = j->sampling,
        .max_new = s->n,
        .on_token = on_token,
        .user = j,
    };
    return ts_generate_ids(&how, s->ids, s->n_ids, g, err);
}

static ts_status generate(job *j, ts_generated *g, ts_error *err)
{
    ts_session *s = &j->session;
    const bool plain = !j->draft.kind;
    ts_status status = choose_sampling(j, err);
    if (!status)
        status = ts_run_draft_check(&j->draft, &j->sampling, err);
    if (!status)
        status = plain ? ts_session_open(s, err) : ts_session_load(s, err);
    if (!status && (j->record || s->json))
        status = ts_weights_hash(s->weights, err);
    if (!status)
        status = plain ? generate_plain(j, g, err)
                       : ts_run_draft_generate(&j->draft, s, &j->sampling, say, j, g, err);
    if (!status)
        end_text(j);
    return status ? status : j->failed;
}

int ts_cmd_run(int argc, char **argv)
{
    ts_error err = {0};
    ts_generated g = {0};
    job j = {.session = ts_session_default(128),
             .sampling = ts_sampling_default(),
             .temperature = NAN,
             .top_p = NAN,
             .min_p = NAN,
             .repetition = NAN,
             .top_k = -1,
             .err = &err};
    int done = parse(argc, argv, &j);
    if (done != TS_GO_ON)
        return done;
    ts_status status = generate(&j, &g, &err);
    if (!status && j.record)
        status = write_record(&j, &g, &err);
    int code = status ? ts_tool_fail(status, &err, j.session.json) : report(&j, &g);
    ts_run_draft_close(&j.draft);
    ts_session_close(&j.session);
    free(g.ids);
    free(j.text);
    return code;
}
