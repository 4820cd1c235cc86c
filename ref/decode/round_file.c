/* Files of rounds. */
#include <stdlib.h>
#include <string.h>

#include "format/json.h"
#include "round.h"

typedef struct {
    const char *file;
    ts_status (*each)(void *user, const ts_round *r, ts_error *err);
    void *user;
    ts_error *err;
    size_t n;
} walk;

static ts_status visit(walk *w, const char *where, const cJSON *o, bool need_schema, const char *prompt)
{
    static const size_t room = sizeof(ts_round);
    ts_round *r = malloc(room);
    if (!r)
        return ts_no_memory(w->err, room);
    ts_status status = ts_round_parse(where, o, need_schema, r, w->err);
    if (status == TS_OK && prompt && !r->prompt[0])
        status = ts_round_name(where, prompt, r, w->err);
    if (status == TS_OK)
        status = w->each(w->user, r, w->err);
    w->n++;
    free(r);
    return status;
}

/* The error's file becomes "FILE:LINE". */
static ts_status visit_line(walk *w, const char *text, size_t size, int64_t line)
{
    char where[300];
    cJSON *o = NULL;
    snprintf(where, sizeof where, "%.250s:%lld", w->file, (long long)line);
    ts_status status = ts_json_parse(where, text, size, &o, w->err);
    if (status == TS_OK)
        status = visit(w, where, o, true, NULL);
    cJSON_Delete(o);
    return status;
}

static ts_status visit_lines(walk *w, const char *text, size_t size)
{
    ts_status status = TS_OK;
    int64_t line = 1;
    for (size_t at = 0; status == TS_OK && at < size; line++) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t n = end ? (size_t)(end - text) - at : size - at;
        status = visit_line(w, text + at, n, line);
        at += n + 1;
    }
    return status;
}

static ts_status visit_array(walk *w, const cJSON *rounds, const char *prompt)
{
    char where[300];
    const cJSON *o;
    int i = 0;
    ts_status status = TS_OK;
    cJSON_ArrayForEach (o, rounds) {
        snprintf(where, sizeof where, "%.160s: %.80s%srounds[%d]", w->file, prompt ? prompt : "", prompt ? "." : "",
                 i++);
        status = status ? status : visit(w, where, o, false, prompt);
    }
    return status;
}

static const cJSON *rounds_of(const cJSON *o)
{
    const cJSON *rounds = cJSON_GetObjectItemCaseSensitive(o, "rounds");
    return cJSON_IsArray(rounds) ? rounds : NULL;
}

static ts_status visit_object(walk *w, const cJSON *root)
{
    const cJSON *cases = cJSON_GetObjectItemCaseSensitive(root, "cases"), *one;
    const cJSON *all = cJSON_IsObject(cases) ? cases : root;
    ts_status status = TS_OK;
    if (!cJSON_IsObject(root))
        return ts_fail(w->err, TS_BAD, w->file, NULL, "is no JSON object");
    if (rounds_of(root))
        return visit_array(w, rounds_of(root), NULL);
    cJSON_ArrayForEach (one, all)
        if (status == TS_OK && rounds_of(one))
            status = visit_array(w, rounds_of(one), one->string);
    return status;
}

/* By name, or because the first line alone is an object with an anchor. */
static bool has_lines(const char *file, const char *text, size_t size)
{
    size_t length = strlen(file);
    if (length > 6 && strcmp(file + length - 6, ".jsonl") == 0)
        return true;
    const char *end = memchr(text, '\n', size);
    cJSON *first = NULL;
    bool is = ts_json_parse(file, text, end ? (size_t)(end - text) : size, &first, NULL) == TS_OK &&
              cJSON_GetObjectItemCaseSensitive(first, "anchor");
    cJSON_Delete(first);
    return is;
}

ts_status ts_rounds_load(const char *file, ts_status (*each)(void *user, const ts_round *r, ts_error *err),
                         void *user, ts_error *err)
{
    walk w = {.file = file, .each = each, .user = user, .err = err};
    char *text = NULL;
    size_t size = 0;
    cJSON *root = NULL;
    ts_status status = ts_read_file(file, &text, &size, err);
    if (status != TS_OK)
        return status;
    if (has_lines(file, text, size)) {
        status = visit_lines(&w, text, size);
    } else {
        status = ts_json_parse(file, text, size, &root, err);
        if (status == TS_OK)
            status = visit_object(&w, root);
    }
    if (status == TS_OK && w.n == 0)
        status = ts_fail(err, TS_BAD, file, "rounds", "has none");
    cJSON_Delete(root);
    free(text);
    return status;
}
