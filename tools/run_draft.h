/* The speculative half of `run`. */
#ifndef TS_TOOLS_RUN_DRAFT_H
#define TS_TOOLS_RUN_DRAFT_H

#include <cjson/cJSON.h>
#include <stdio.h>
#include "format/file.h"
#include "rounds.h"
#include "session.h"

typedef struct {
    /* set by options */
    const char *kind, *model, *verify, *rounds, *along;
    int64_t k; /* 0: not given */
    bool hash;
    /* set by the run */
    ts_weights *weights;
    ts_rounds *engine;
    ts_round *guide; /* of --along */
    size_t n_guide;
    ts_out out;  /* of --rounds */
    FILE *file;  /* on it */
    cJSON *list; /* of the records */
    int64_t n, proposed, accepted, emitted;
    ts_status failed; /* of a record, explained by err */
    ts_error *err;
} ts_run_draft;

/* Do the options go together? Fills in what was not given. */
ts_status ts_run_draft_check(ts_run_draft *d, const ts_sampling *s, ts_error *err);
/* As ts_generate_ids over a loaded session; say gets every id. */
ts_status ts_run_draft_generate(ts_run_draft *d, ts_session *s, const ts_sampling *sampling,
                                int (*say)(void *user, int32_t id), void *user, ts_generated *out, ts_error *err);
/* Members "draft", "acceptance" and "rounds" of the record, nothing without a drafter. */
void ts_run_draft_json(const ts_run_draft *d, cJSON *o);
/* The line beside the rates. */
void ts_run_draft_report(const ts_run_draft *d);
void ts_run_draft_close(ts_run_draft *d);

#endif
