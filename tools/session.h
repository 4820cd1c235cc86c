/* What run and trace share: a model, a tokenised prompt, an engine to run it on. */
#ifndef TS_TOOLS_SESSION_H
#define TS_TOOLS_SESSION_H

#include <cjson/cJSON.h>
#include "format/tokenizer.h"
#include "options.h"
#include "runner.h"

typedef struct {
    /* set by options */
    const char *model, *prompt, *prompt_file, *ids_text, *engine, *profile_name, *kv_name, *system;
    ts_option_list with; /* choices changed */
    int64_t threads, n;  /* n: tokens after the prompt */
    bool chat, no_think; /* prompt is a user's message, and system goes before it (tools/chat.h) */
    bool json;
    /* set by ts_session_open */
    const ts_profile *profile; /* the named one, with the changes of `with` and the KV dtype of kv_name */
    ts_profile own;
    char own_name[256]; /* "ggml, attention=softmax_ggml" */
    ts_weights *weights;
    ts_tokenizer *tokenizer; /* NULL with ids_text */
    ts_runner *runner;
    char *text;   /* the prompt as rendered; NULL with ids_text */
    int32_t *ids; /* of the prompt */
    size_t n_ids;
} ts_session;

enum { TS_MAX_THREADS = 1024 };

/* Engine fast, threads = online CPUs, n as given. */
ts_session ts_session_default(int64_t n);
/* Loads and tokenises. Close it in any case. */
ts_status ts_session_load(ts_session *s, ts_error *err);
/* The same, and opens an engine with room for prompt + n. Close it in any case. */
ts_status ts_session_open(ts_session *s, ts_error *err);
void ts_session_close(ts_session *s);

/* ids as a JSON array, NULL if out of memory. */
cJSON *ts_ids_json(const int32_t *ids, size_t n);

#endif
