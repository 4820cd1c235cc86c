/* touchstone golden: our own goldens anew, as a reviewable diff. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case/table.h"
#include "check/run.h"
#include "format/files.h"
#include "format/json.h"
#include "num/sha256.h"
#include "options.h"
#include "tool.h"

typedef struct {
    const char *golden, *commit, *flags, *case_glob;
    bool json, external;
    int changed, repaired, total;
} settings;

static int parse(int argc, char **argv, settings *s)
{
    const ts_option options[] = {
        {"golden", 'g', TS_OPT_TEXT, &s->golden, 0, 0, "DIR", "the golden folder (golden)"},
        {"case", 'c', TS_OPT_TEXT, &s->case_glob, 0, 0, "GLOB", "only cases whose name matches"},
        {"external", 0, TS_OPT_FLAG, &s->external, 0, 0, NULL, "also record changed files outside own/"},
        {"commit", 0, TS_OPT_TEXT, &s->commit, 0, 0, "ID",
         "recorded in the cases that change, or that say \"unknown\""},
        {"flags", 0, TS_OPT_TEXT, &s->flags, 0, 0, "TEXT", "compiler and flags, recorded likewise"},
        {"json", 0, TS_OPT_FLAG, &s->json, 0, 0, NULL, "the result as a JSON object"},
    };
    ts_command_line c = {.usage = "golden [OPTIONS]", .option = options, .n = sizeof options / sizeof *options};
    return ts_options_parse(argc, argv, &c);
}

static bool known(const char *text)
{
    return text && *text && strcmp(text, "unknown") != 0;
}

/* A golden made by hand says "unknown"; a later run that knows the commit and finds the same bits says so. */
static bool repairs(const settings *s, const ts_case *c)
{
    const cJSON *made = cJSON_GetObjectItemCaseSensitive(c->json, "made_by");
    static const char *const key[] = {"commit", "flags"};
    const char *const now[] = {s->commit, s->flags};
    for (int i = 0; i < 2; i++)
        if (known(now[i]) && !known(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(made, key[i]))))
            return true;
    return false;
}

/* made_by changes only together with what was made, or when it said nothing. */
static ts_status save_if_changed(settings *s, ts_case *c, const cJSON *before, ts_error *err)
{
    const cJSON *now = cJSON_GetObjectItemCaseSensitive(c->json, "expect");
    bool same = cJSON_Compare(before, now, true);
    s->total++;
    if (same && !repairs(s, c))
        return TS_OK;
    s->changed += !same;
    s->repaired += same;
    cJSON_DeleteItemFromObjectCaseSensitive(c->json, "made_by");
    cJSON *made = cJSON_AddObjectToObject(c->json, "made_by");
    cJSON_AddStringToObject(made, "tool", "touchstone " TS_VERSION ", ref32");
    cJSON_AddStringToObject(made, "commit", known(s->commit) ? s->commit : "unknown");
    cJSON_AddStringToObject(made, "flags", known(s->flags) ? s->flags : "unknown");
    if (!s->json)
        printf("%s %s\n", same ? "made_by of" : "changed", c->name);
    return ts_json_save(c->path, c->json, err);
}

/* Of what others made we record nothing, but where we part from them. */
static bool is_recorded(const ts_case *c)
{
    const char *check = ts_case_string(c, "check");
    return c->kind != TS_CASE_EXTERNAL || (check && strcmp(check, "peer") == 0);
}

static ts_status rewrite_cases(settings *s, ts_check *k, ts_error *err)
{
    char folder[512];
    ts_case *cases;
    size_t n;
    ts_check_path(k, "own/cases", folder, sizeof folder);
    ts_status status = ts_case_list(folder, &cases, &n, err);
    for (size_t i = 0; !status && i < n; i++) {
        if (cases[i].kind == TS_CASE_BROKEN) {
            *err = cases[i].error;
            status = TS_BAD;
            break;
        }
        if (!ts_check_selects(k, &cases[i]) || !is_recorded(&cases[i]))
            continue;
        cJSON *before = cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(cases[i].json, "expect"), true);
        if (cases[i].kind == TS_CASE_OP)
            ts_check_op_case(k, &cases[i]);
        else if (cases[i].kind == TS_CASE_STREAM)
            ts_check_stream_case(k, &cases[i]);
        else
            ts_check_external_case(k, &cases[i]);
        if (ts_report_status(k->report) != TS_OK && k->report->count[TS_FAIL])
            status = ts_fail(err, TS_BAD, cases[i].path, NULL, "the case could not be run: %s",
                             k->report->v[0].detail);
        else
            status = save_if_changed(s, &cases[i], before, err);
        cJSON_Delete(before);
    }
    ts_case_list_free(cases, n);
    return status;
}

static ts_status rewrite_tables(const ts_check *k, ts_error *err)
{
    char path[512], hex[TS_SHA256_HEX];
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "schema", 1);
    cJSON *tables = cJSON_AddObjectToObject(o, "sha256");
    for (size_t i = 0; ts_table_at(i); i++) {
        ts_sha256(ts_table_at(i)->data, ts_table_at(i)->size, hex);
        cJSON_AddStringToObject(tables, ts_table_at(i)->name, hex);
    }
    ts_check_path(k, "own/tables.json", path, sizeof path);
    ts_status status = ts_json_save(path, o, err);
    cJSON_Delete(o);
    return status;
}

/* Ours may change; what other software made may not, unless the user says so. */
static ts_status guard_external(const char *old, const char *name, const char *hex, ts_error *err)
{
    char line[600];
    snprintf(line, sizeof line, "%s  %s\n", hex, name);
    if (!old || strncmp(name, "own/", 4) == 0 || strstr(old, line))
        return TS_OK;
    return ts_fail(err, TS_BAD, name, NULL,
                   "not ours, and not as recorded in SHA256SUMS: golden --external records it");
}

static ts_status rewrite_sums(const settings *set, const ts_check *k, ts_error *err)
{
    char path[512], *text = NULL, *old = NULL;
    size_t size = 0;
    ts_files files;
    ts_error none;
    ts_check_path(k, "SHA256SUMS", path, sizeof path);
    if (!set->external && ts_read_file(path, &old, &size, &none))
        old = NULL; /* the first time there is none */
    ts_status status = ts_files_list(k->o.golden, &files, err);
    FILE *f = status ? NULL : open_memstream(&text, &size);
    for (size_t i = 0; f && !status && i < files.n; i++) {
        const char *name = files.path[i] + strlen(k->o.golden) + 1;
        char hex[TS_SHA256_HEX];
        if (strcmp(name, "SHA256SUMS") == 0)
            continue;
        status = ts_sha256_file(files.path[i], hex, err);
        if (!status)
            status = guard_external(old, name, hex, err);
        fprintf(f, "%s  %s\n", hex, name);
    }
    if (f && fclose(f) != 0 && !status)
        status = ts_no_memory(err, size);
    if (!status)
        status = ts_write_file(path, text, size, err);
    free(text);
    free(old);
    ts_files_free(&files);
    return status;
}

int ts_cmd_golden(int argc, char **argv)
{
    settings s = {.golden = "golden"};
    int go = parse(argc, argv, &s);
    if (go != TS_GO_ON)
        return go;
    struct ts_model_cache *models = NULL;
    ts_report report = {.quiet = s.json};
    ts_check k = {
        .o = {.golden = s.golden, .case_glob = s.case_glob, .rewrite = true}, .report = &report, .models = &models};
    ts_error err = {0};
    ts_status status = rewrite_cases(&s, &k, &err);
    ts_check_models_free(&k);
    if (!status)
        status = rewrite_tables(&k, &err);
    if (!status)
        status = rewrite_sums(&s, &k, &err);
    ts_report_free(&report);
    if (status)
        return ts_tool_fail(status, &err, s.json);
    printf(s.json ? "{\"schema\":1,\"cases\":%d,\"changed\":%d,\"repaired\":%d}\n"
                  : "%d cases, %d changed, %d with a better made_by; tables.json and SHA256SUMS rewritten\n",
           s.total, s.changed, s.repaired);
    return TS_OK;
}
