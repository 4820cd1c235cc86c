#include "session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chat.h"
#include "format/file.h"
#include "format/gguf.h"
#include "format/tokenizer_parts.h"
#include "options.h"

ts_session ts_session_default(int64_t n)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    cpus = cpus < 1 ? 1 : cpus > TS_MAX_THREADS ? TS_MAX_THREADS : cpus;
    return (ts_session){.engine = "fast", .threads = cpus, .n = n};
}

enum { MOST_PROMPT = 16 << 20 };

/* All of the standard input, which may be a pipe; malloc'd and NUL terminated. */
static ts_status read_stdin(char **text, size_t *size, ts_error *err)
{
    size_t n = 0;
    char *y = malloc(MOST_PROMPT + 2);
    if (!y)
        return ts_no_memory(err, MOST_PROMPT + 2);
    n = fread(y, 1, MOST_PROMPT + 1, stdin);
    if (ferror(stdin) || n > MOST_PROMPT) {
        free(y);
        return n > MOST_PROMPT ? ts_fail(err, TS_BAD, "stdin", NULL, "more than the %d bytes allowed", MOST_PROMPT)
                               : ts_fail(err, TS_BAD, "stdin", NULL, "%s", strerror(errno));
    }
    y[n] = '\0';
    *text = y;
    *size = n;
    return TS_OK;
}

static ts_status read_prompt(const ts_session *s, char **text, size_t *size, ts_error *err)
{
    if (s->prompt) {
        *size = strlen(s->prompt);
        *text = malloc(*size + 1);
        if (*text)
            memcpy(*text, s->prompt, *size + 1);
        return *text ? TS_OK : ts_no_memory(err, *size + 1);
    }
    return strcmp(s->prompt_file, "-") == 0 ? read_stdin(text, size, err)
                                            : ts_file_read(s->prompt_file, MOST_PROMPT, text, size, err);
}

/* The message becomes the prompt. */
static ts_status render(ts_session *s, ts_error *err)
{
    char *prompt = NULL;
    ts_status status = ts_chat_render(s->system, s->text, !s->no_think, &prompt, err);
    if (status)
        return status;
    free(s->text);
    s->text = prompt;
    return TS_OK;
}

/* The tokenizer of a GGUF file is in it; of a folder it is tokenizer.json, or Kimi's tiktoken.model where that is
 * all there is. */
static const char *tokenizer_form(const char *model)
{
    char path[4096];
    struct stat st;
    if (ts_gguf_is(model))
        return "%s";
    snprintf(path, sizeof path, "%s/tokenizer.json", model);
    if (stat(path, &st) == 0)
        return "%s/tokenizer.json";
    snprintf(path, sizeof path, "%s/tiktoken.model", model);
    return stat(path, &st) == 0 ? "%s/tiktoken.model" : "%s/tokenizer.json";
}

static ts_status encode(ts_session *s, ts_error *err)
{
    char path[4096];
    size_t size = 0;
    const char *file = !s->prompt_file ? "--prompt" : strcmp(s->prompt_file, "-") ? s->prompt_file : "stdin";
    if (snprintf(path, sizeof path, tokenizer_form(s->model), s->model) >= (int)sizeof path)
        return ts_fail(err, TS_BAD, s->model, NULL, "path too long");
    ts_status status = read_prompt(s, &s->text, &size, err);
    if (status)
        return status;
    if (memchr(s->text, '\0', size)) /* a record could not hold it */
        return ts_fail(err, TS_BAD, file, NULL, "byte %zu is NUL", strlen(s->text));
    status = ts_utf8_check(s->text, size, file, NULL, err);
    if (!status && s->system)
        status = ts_utf8_check(s->system, strlen(s->system), "--system", NULL, err);
    if (!status && s->chat)
        status = render(s, err);
    if (!status)
        status = ts_tokenizer_open(path, &s->tokenizer, err);
    if (!status)
        status = ts_tokenizer_encode(s->tokenizer, s->text, strlen(s->text), &s->ids, &s->n_ids, err);
    if (!status && s->n_ids == 0)
        return ts_fail(err, TS_BAD, file, NULL, "the prompt has no tokens");
    return status;
}

/* A profile with changes has another name: what it gives is no golden of the profile. */
static ts_status change_choices(ts_session *s, ts_error *err)
{
    size_t n = (size_t)snprintf(s->own_name, sizeof s->own_name, "%s", s->own.name);
    for (size_t i = 0; i < s->with.n; i++) {
        const char *text = s->with.text[i];
        if (!ts_profile_change(&s->own, text))
            return ts_fail(err, TS_USAGE, NULL, "--with", "'%s' is no CHOICE=VALUE of touchstone profiles", text);
        if (n + strlen(text) + 3 > sizeof s->own_name)
            return ts_fail(err, TS_USAGE, NULL, "--with", "too many changes");
        n += (size_t)snprintf(s->own_name + n, sizeof s->own_name - n, ", %s", text);
    }
    s->own.name = s->own_name;
    return TS_OK;
}

static ts_status check(ts_session *s, ts_error *err)
{
    int prompts = (s->prompt != NULL) + (s->prompt_file != NULL) + (s->ids_text != NULL);
    if (!s->model)
        return ts_fail(err, TS_USAGE, NULL, "--model", "is required");
    if (prompts != 1)
        return ts_fail(err, TS_USAGE, NULL, NULL, "exactly one prompt is needed, %d given", prompts);
    if (!s->chat && (s->system || s->no_think))
        return ts_fail(err, TS_USAGE, NULL, s->system ? "--system" : "--no-think", "needs --chat");
    ts_status status = ts_runner_check_engine(s->engine, err);
    if (status)
        return status;
    const char *name = s->profile_name ? s->profile_name : strcmp(s->engine, "ref64") == 0 ? "exact" : "ts";
    const ts_profile *named = ts_profile_find(name);
    if (!named)
        return ts_fail(err, TS_USAGE, NULL, "--profile", "'%s' is none of %s", name, ts_profile_names());
    s->own = *named;
    s->profile = &s->own;
    status = change_choices(s, err);
    if (status)
        return status;
    if (s->kv_name && !ts_kv_find(s->kv_name, &s->own.kv))
        return ts_fail(err, TS_USAGE, NULL, "--kv", "'%s' is none of real, bf16, f16, fp8-e4m3, fp8-e5m2",
                       s->kv_name);
    return TS_OK;
}

static ts_status check_length(const ts_session *s, ts_error *err)
{
    int64_t prompt = (int64_t)s->n_ids, most = s->weights->cfg.max_positions;
    if (prompt > most || s->n > most - prompt)
        return ts_fail(err, TS_BAD, s->model, NULL,
                       "a prompt of %" PRId64 " tokens and %" PRId64 " more exceed the model's %" PRId64
                       " positions",
                       prompt, s->n, most);
    return TS_OK;
}

ts_status ts_session_load(ts_session *s, ts_error *err)
{
    ts_status status = check(s, err);
    if (!status)
        status = s->ids_text ? ts_parse_ids(s->ids_text, &s->ids, &s->n_ids, err) : encode(s, err);
    if (!status)
        status = ts_weights_load(s->model, &s->weights, err);
    return status ? status : check_length(s, err);
}

ts_status ts_session_open(ts_session *s, ts_error *err)
{
    ts_status status = ts_session_load(s, err);
    if (status)
        return status;
    ts_runner_options o = {
        .engine = s->engine,
        .profile = s->profile,
        .capacity = (int64_t)s->n_ids + s->n,
        .threads = (int)s->threads,
    };
    return ts_runner_open(s->weights, &o, &s->runner, err);
}

void ts_session_close(ts_session *s)
{
    ts_runner_close(s->runner);
    if (s->weights)
        ts_weights_free(s->weights);
    if (s->tokenizer)
        ts_tokenizer_close(s->tokenizer);
    free(s->text);
    free(s->ids);
}

cJSON *ts_ids_json(const int32_t *ids, size_t n)
{
    return cJSON_CreateIntArray(n ? ids : (const int32_t[]){0}, (int)n);
}
