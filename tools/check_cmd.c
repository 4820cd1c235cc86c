/* touchstone check: the main job. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/run.h"
#include "cpu/isa.h"
#include "options.h"
#include "plugin.h"
#include "tool.h"
#include "verify.h"

typedef struct {
    ts_check_options o;
    int64_t timeout;
    ts_option_list plugin;
    const char *junit;
    bool list, json, tap;
} settings;

static int parse(int argc, char **argv, settings *s)
{
    const ts_option options[] = {
        {"golden", 'g', TS_OPT_TEXT, &s->o.golden, 0, 0, "DIR",
         "the golden folder ($TOUCHSTONE_GOLDEN, ./golden or the installed one)"},
        {"op", 'o', TS_OPT_TEXT, &s->o.op, 0, 0, "NAME", "only cases of this operation, or external check"},
        {"case", 'c', TS_OPT_TEXT, &s->o.case_glob, 0, 0, "GLOB", "only cases whose name matches"},
        {"schedule", 's', TS_OPT_TEXT, &s->o.schedule, 0, 0, "NAME", "only this schedule"},
        {"plugin", 'p', TS_OPT_LIST, &s->plugin, 0, 0, "FILE.so", "schedules from outside too (docs/schedules.md)"},
        {"covers", 0, TS_OPT_TEXT, &s->o.covers, 0, 0, "ID", "only cases that cover this report of docs/bugs.md"},
        {"seed", 0, TS_OPT_TEXT, &s->o.seed, 0, 0, "N",
         "other inputs for the op cases (recorded hashes do not apply)"},
        {"only", 0, TS_OPT_TEXT, &s->o.only, 0, 0, "STAGE", "canaries, tables, files, ops, streams or external"},
        {"timeout", 0, TS_OPT_INT, &s->timeout, 1, 3600, "S", "seconds a schedule may take on a case (20)"},
        {"no-own", 0, TS_OPT_FLAG, &s->o.no_own, 0, 0, NULL, "recorded hashes of op and stream cases do not count"},
        {"grid", 0, TS_OPT_FLAG, &s->o.grid, 0, 0, NULL, "every thread count and prefill cut of every stream"},
        {"full", 0, TS_OPT_FLAG, &s->o.full, 0, 0, NULL, "that, and every prompt of the cases of speculation"},
        {"list", 'l', TS_OPT_FLAG, &s->list, 0, 0, NULL, "list the selected cases and the schedules, run nothing"},
        {"json", 0, TS_OPT_FLAG, &s->json, 0, 0, NULL, "every finding as a JSON object"},
        {"junit", 0, TS_OPT_TEXT, &s->junit, 0, 0, "FILE", "every finding as JUnit XML, beside the usual output"},
        {"tap", 0, TS_OPT_FLAG, &s->tap, 0, 0, NULL, "every finding as TAP version 13"},
    };
    ts_command_line c = {.usage = "check [OPTIONS]", .option = options, .n = sizeof options / sizeof *options};
    return ts_options_parse(argc, argv, &c);
}

/* "covers": the report ids of every selected case that has some. */
static void add_covers(cJSON *o, const ts_check *k, const ts_case *cases, size_t n)
{
    cJSON *all = cJSON_AddObjectToObject(o, "covers");
    for (size_t i = 0; i < n; i++) {
        const cJSON *covers = cJSON_GetObjectItemCaseSensitive(cases[i].json, "covers");
        if (covers && ts_check_selects(k, &cases[i]))
            cJSON_AddItemToObject(all, cases[i].name, cJSON_Duplicate(covers, true));
    }
}

/* Names of the schedules of what is selected; as lines, or as items of `array`. */
static void list_schedules(const ts_check *k, const ts_schedule *(*at)(const ts_check *k, int i), cJSON *array)
{
    const ts_schedule *s;
    for (int i = 0; (s = at(k, i)) != NULL; i++) {
        if ((k->o.op && strcmp(k->o.op, ts_op_table[s->op].name) != 0) ||
            (k->o.schedule && strcmp(k->o.schedule, s->name) != 0))
            continue;
        if (array)
            cJSON_AddItemToArray(array, cJSON_CreateString(s->name));
        else if (ts_isa_runs(s->isa))
            printf("schedule %s\n", s->name);
        else
            printf("schedule %s (cannot run here: needs %s)\n", s->name, s->isa);
    }
}

static void list_json(const ts_check *k, const ts_case *cases, size_t n)
{
    cJSON *o = cJSON_CreateObject(), *c = cJSON_AddArrayToObject(o, "cases");
    for (size_t i = 0; i < n; i++)
        if (ts_check_selects(k, &cases[i]))
            cJSON_AddItemToArray(c, cJSON_CreateString(cases[i].name));
    list_schedules(k, ts_check_schedule_at, cJSON_AddArrayToObject(o, "schedules"));
    list_schedules(k, ts_check_absent_at, cJSON_AddArrayToObject(o, "absent"));
    cJSON_AddNumberToObject(o, "schema", 1);
    add_covers(o, k, cases, n);
    char *text = cJSON_Print(o);
    puts(text ? text : "");
    cJSON_free(text);
    cJSON_Delete(o);
}

static void list(const ts_check *k, const ts_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ts_check_selects(k, &cases[i]))
            printf("case %s\n", cases[i].name);
    list_schedules(k, ts_check_schedule_at, NULL);
    list_schedules(k, ts_check_absent_at, NULL);
}

static int finish(const ts_check *k, const ts_case *cases, size_t n, const settings *s)
{
    ts_error err = {0};
    if (s->json) {
        cJSON *o = ts_report_json(k->report);
        add_covers(o, k, cases, n);
        char *text = cJSON_Print(o);
        puts(text ? text : "");
        cJSON_free(text);
        cJSON_Delete(o);
    } else if (s->tap) {
        ts_report_tap(k->report, stdout);
    } else {
        ts_report_print(k->report, stdout);
    }
    ts_status status = s->junit ? ts_report_junit(k->report, s->junit, &err) : TS_OK;
    return status ? ts_tool_fail(status, &err, false) : (int)ts_report_status(k->report);
}

static int nothing_selected(bool json)
{
    ts_error err = {0};
    ts_fail(&err, TS_USAGE, NULL, NULL, "no case matches these options (see --list)");
    return ts_tool_fail(TS_USAGE, &err, json);
}

static int check_filters(const settings *s)
{
    static const char *const stages[] = {"canaries", "tables", "files", "ops", "streams", "external"};
    bool known = !s->o.only;
    uint64_t seed;
    ts_error err = {0};
    ts_status status = TS_OK;
    for (int i = 0; i < 6; i++)
        known |= s->o.only && strcmp(s->o.only, stages[i]) == 0;
    if (!known)
        status = ts_fail(&err, TS_USAGE, NULL, "--only", "no stage '%s'", s->o.only);
    else if (s->tap && s->json)
        status = ts_fail(&err, TS_USAGE, NULL, "--tap", "standard output takes one of --json and --tap");
    else if (s->o.seed && !ts_parse_u64(s->o.seed, &seed))
        status = ts_fail(&err, TS_USAGE, NULL, "--seed", "'%s' is not a number", s->o.seed);
    return status ? ts_tool_fail(status, &err, s->json) : TS_GO_ON;
}

/* What a repro line needs beside case and schedule; to be freed. */
static char *common_options(const settings *s)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    if (s->o.golden)
        ts_report_option(f, "--golden", s->o.golden);
    for (size_t i = 0; i < s->plugin.n; i++)
        ts_report_option(f, "--plugin", s->plugin.text[i]);
    if (s->o.seed)
        fprintf(f, " --seed %s", s->o.seed);
    if (s->timeout)
        fprintf(f, " --timeout %lld", (long long)s->timeout);
    fputs(s->o.full ? " --full" : s->o.grid ? " --grid" : "", f);
    fclose(f);
    return text;
}

static int check(const settings *s, const ts_check *k)
{
    char folder[512];
    ts_case *cases = NULL;
    size_t n = 0;
    ts_error err = {0};
    ts_check run = *k;
    int code = TS_OK;
    ts_check_path(k, "own/cases", folder, sizeof folder);
    ts_status status = ts_check_find_schedule(k, &err);
    if (!status)
        status = ts_case_list(folder, &cases, &n, &err);
    if (status) {
        code = ts_tool_fail(status, &err, s->json);
    } else if (s->list) {
        (s->json ? list_json : list)(k, cases, n);
    } else {
        ts_check_run(&run, cases, n);
        code = k->report->n == 0 && !k->report->lost ? nothing_selected(s->json) : finish(k, cases, n, s);
    }
    ts_case_list_free(cases, n);
    return code;
}

int ts_cmd_check(int argc, char **argv)
{
    settings s = {.o = {0}};
    int go = parse(argc, argv, &s);
    if (go == TS_GO_ON)
        go = check_filters(&s);
    if (go != TS_GO_ON)
        return go;
    s.o.grid |= s.o.full;
    struct ts_model_cache *models = NULL;
    ts_report report = {.quiet = s.json || s.tap};
    ts_plugins plugins = {.n = 0};
    ts_error err = {0};
    char *options = common_options(&s);
    report.options = options;
    ts_status status = s.plugin.n ? ts_plugins_open(s.plugin.text, s.plugin.n, &plugins, &err) : TS_OK;
    s.o.timeout = (int)s.timeout;
    s.o.golden = ts_golden_folder(s.o.golden);
    s.o.extra = plugins.schedule;
    int code = status ? ts_tool_fail(status, &err, s.json)
                      : check(&s, &(ts_check){.o = s.o, .report = &report, .models = &models});
    ts_report_free(&report);
    free(options);
    if (plugins.n > 0)
        _exit(ts_tool_flush(false) ? TS_BAD : code); /* see ts_plugins_open */
    return code;
}
