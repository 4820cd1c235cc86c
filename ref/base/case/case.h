/* A case: one self-contained JSON file that says what to run, on which inputs,
 * and what must come out. It is its own golden. docs/cases.md lists the fields.
 *
 *   kind "op"        one operation on generated inputs: dims, params, inputs, expect
 *   kind "stream"    a model, a profile, a prompt: expect ids and the hash of the logits
 *   kind "external"  a check against a golden made by software that is not ours */
#ifndef TS_CASE_CASE_H
#define TS_CASE_CASE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include "case/op.h"
#include "num/status.h"

typedef enum { TS_CASE_OP, TS_CASE_STREAM, TS_CASE_EXTERNAL, TS_CASE_BROKEN } ts_case_kind;

typedef struct {
    char path[256]; /* of the JSON file */
    char name[96];  /* path below the case folder, sorted, without .json */
    ts_case_kind kind;
    cJSON *json;    /* whole file; owned */
    ts_op_id op;    /* kind op */
    uint64_t seed;  /* kind op */
    ts_error error; /* kind broken: why the file is no case */
} ts_case;

/* Reads and validates; what is wrong with the file goes to out->error and kind broken. `folder` is stripped from
 * the path to make the name; TS_BAD only if that does not fit. */
ts_status ts_case_load(const char *folder, const char *path, ts_case *out, ts_error *err);
void ts_case_free(ts_case *c);

/* Every .json below folder, sorted by name. A file that is no valid case is in the list as broken, so that one
 * bad file hides nothing else. */
/* The caller frees the list, also after an error. */
ts_status ts_case_list(const char *folder, ts_case **out, size_t *n, ts_error *err);
void ts_case_list_free(ts_case *cases, size_t n);

/* A required / optional string of the case; NULL when absent. */
const char *ts_case_string(const ts_case *c, const char *key);
/* expect[field], or NULL. */
const char *ts_case_expect(const ts_case *c, const char *field);
/* The field "covers" names this report of docs/bugs.md. */
bool ts_case_covers(const ts_case *c, const char *report);

#endif
