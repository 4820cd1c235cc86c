/* touchstone diff: the first tensor and element where two traces part. */
#include "diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "tool.h"
#include "trace/trace.h"

static void add_common(ts_diff *d, const char *name)
{
    ts_diff_entry *e = &d->entry[d->n++];
    e->name = name;
    e->a = ts_safetensors_find(d->a, name);
    e->b = ts_safetensors_find(d->b, name);
    if (!e->b) {
        e->differs = true;
        d->missing++;
        return;
    }
    e->differs = ts_compare(e->a, e->b, &e->c) != TS_OK;
    d->common++;
    d->differing += e->differs;
    d->mixed |= e->c.mixed;
}

static void add_extra(ts_diff *d, const char *name)
{
    if (ts_safetensors_find(d->a, name))
        return;
    d->entry[d->n++] = (ts_diff_entry){.name = name, .b = ts_safetensors_find(d->b, name), .differs = true};
    d->extra++;
}

static ts_status compare(ts_diff *d, ts_error *err)
{
    const char **a = NULL, **b = NULL;
    size_t n_a = 0, n_b = 0;
    ts_status status = ts_trace_order(d->a, &a, &n_a, err);
    if (!status)
        status = ts_trace_order(d->b, &b, &n_b, err);
    if (!status) {
        d->entry = calloc(n_a + n_b + 1, sizeof *d->entry);
        status = d->entry ? TS_OK : ts_no_memory(err, (n_a + n_b + 1) * sizeof *d->entry);
    }
    for (size_t i = 0; !status && i < n_a; i++)
        add_common(d, a[i]);
    for (size_t i = 0; !status && i < n_b; i++)
        add_extra(d, b[i]);
    free(a);
    free(b);
    return status;
}

/* Traces of different profiles differ by intent: no finding, unless that is the question. A file of others says
 * nothing. */
static ts_status check_profiles(const ts_diff *d, bool across, ts_error *err)
{
    static const char *const keys[] = {"profile", "kv"};
    for (int i = 0; i < 2 && !across; i++) {
        const char *a = ts_safetensors_meta(d->a, keys[i]), *b = ts_safetensors_meta(d->b, keys[i]);
        if (a && b && strcmp(a, b) != 0)
            return ts_fail(err, TS_USAGE, d->path_b, keys[i],
                           "'%.100s', but '%.100s' in %s: --across-profiles compares them all the same", b, a,
                           d->path_a);
    }
    return TS_OK;
}

static int report(const ts_diff *d, int64_t rows, bool all, bool json)
{
    ts_status verdict = d->differing + d->missing + d->extra ? TS_DIFFERS : TS_OK;
    if (json)
        return ts_tool_print(ts_diff_json(d), verdict);
    ts_diff_print(d, (int)rows, all);
    int flushed = ts_tool_flush(false);
    return flushed ? flushed : (int)verdict;
}

int ts_cmd_diff(int argc, char **argv)
{
    const char *path[2];
    int64_t rows = 4;
    bool all = false, across = false, json = false;
    const ts_option options[] = {
        {"rows", 'r', TS_OPT_INT, &rows, 0, 1000, "N", "rows to print side by side (4)"},
        {"all", 'a', TS_OPT_FLAG, &all, 0, 0, NULL, "a line for every tensor that differs, not for the first few"},
        {"across-profiles", 0, TS_OPT_FLAG, &across, 0, 0, NULL, "even if the traces are of different profiles"},
        {"json", 0, TS_OPT_FLAG, &json, 0, 0, NULL, "the result as a JSON object"},
    };
    ts_command_line c = {"diff A.safetensors B.safetensors [OPTIONS]", options, 4, path, 2, 0};
    int done = ts_options_parse(argc, argv, &c);
    if (done != TS_GO_ON)
        return done;
    ts_error err = {0};
    ts_safetensors *a = NULL, *b = NULL;
    ts_status status = ts_safetensors_open(path[0], &a, &err);
    if (!status)
        status = ts_safetensors_open(path[1], &b, &err);
    ts_diff d = {.path_a = path[0], .path_b = path[1], .a = a, .b = b};
    if (!status)
        status = check_profiles(&d, across, &err);
    if (!status)
        status = compare(&d, &err);
    if (!status && d.common == 0)
        status = ts_fail(&err, TS_BAD, path[1], NULL, "has no tensor in common with %s", path[0]);
    int code = status ? ts_tool_fail(status, &err, json) : report(&d, rows, all, json);
    free(d.entry);
    ts_safetensors_close(a);
    ts_safetensors_close(b);
    return code;
}
