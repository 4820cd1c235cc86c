#include "check/check.h"

#include <fnmatch.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/pool.h"
#include "check/run.h"
#include "cpu/isa.h"
#include "num/canary.h"
#include "schedule.h"

void ts_check_path(const ts_check *k, const char *path, char *out, size_t size)
{
    snprintf(out, size, "%s/%s", k->o.golden, path);
}

void ts_check_set_expect(const ts_case *c, const char *key, const char *value)
{
    cJSON *expect = cJSON_GetObjectItemCaseSensitive(c->json, "expect");
    if (!expect)
        expect = cJSON_AddObjectToObject(c->json, "expect");
    cJSON_DeleteItemFromObjectCaseSensitive(expect, key);
    cJSON_AddStringToObject(expect, key, value);
}

static bool wanted(const ts_check *k, const char *stage)
{
    return !k->o.only || strcmp(k->o.only, stage) == 0;
}

int ts_check_seconds(const ts_check *k)
{
    return k->o.timeout ? k->o.timeout : 20;
}

/* The i-th of o.extra whose isa runs here, or does not. */
static const ts_schedule *extra_at(const ts_check *k, int i, bool runs)
{
    const ts_schedule *const *s = k->o.extra;
    for (; s && *s; s++)
        if (ts_isa_runs((*s)->isa) == runs && i-- == 0)
            return *s;
    return NULL;
}

const ts_schedule *ts_check_schedule_at(const ts_check *k, int i)
{
    int n = 0;
    while (ts_schedule_at(n))
        n++;
    return i < n ? ts_schedule_at(i) : extra_at(k, i - n, true);
}

const ts_schedule *ts_check_absent_at(const ts_check *k, int i)
{
    int n = 0;
    while (ts_schedule_absent(n))
        n++;
    return i < n ? ts_schedule_absent(i) : extra_at(k, i - n, false);
}

static const ts_schedule *find(const ts_check *k, const char *name,
                               const ts_schedule *(*at)(const ts_check *k, int i))
{
    const ts_schedule *s;
    for (int i = 0; (s = at(k, i)) != NULL; i++)
        if (strcmp(s->name, name) == 0)
            return s;
    return NULL;
}

ts_status ts_check_find_schedule(const ts_check *k, ts_error *err)
{
    const char *name = k->o.schedule;
    if (!name || find(k, name, ts_check_schedule_at))
        return TS_OK;
    const ts_schedule *absent = find(k, name, ts_check_absent_at);
    return absent ? ts_fail(err, TS_USAGE, NULL, "--schedule",
                            "'%s' cannot run here: it needs %s, which this CPU has not or TS_CPU forbids", name,
                            absent->isa)
                  : ts_fail(err, TS_USAGE, NULL, "--schedule", "no schedule '%s' (see --list)", name);
}

static const char *stage_of(const ts_case *c)
{
    static const char *const stages[] = {[TS_CASE_OP] = "ops",
                                         [TS_CASE_STREAM] = "streams",
                                         [TS_CASE_EXTERNAL] = "external",
                                         [TS_CASE_BROKEN] = "broken"};
    return stages[c->kind];
}

bool ts_check_selects(const ts_check *k, const ts_case *c)
{
    if (k->o.case_glob && fnmatch(k->o.case_glob, c->name, 0) != 0)
        return false;
    if (c->kind == TS_CASE_BROKEN) /* it might be any of those asked for */
        return true;
    if (k->o.covers && !ts_case_covers(c, k->o.covers))
        return false;
    const char *check = ts_case_string(c, "check");
    const char *group = c->kind == TS_CASE_OP ? ts_op_table[c->op].name : check ? check : "stream";
    if (k->o.schedule && (c->kind != TS_CASE_OP || find(k, k->o.schedule, ts_check_schedule_at)->op != c->op))
        return false;
    return wanted(k, stage_of(c)) && (!k->o.op || strcmp(k->o.op, group) == 0);
}

static void check_broken(ts_check *k, const ts_case *c)
{
    ts_report_begin(k->report, "broken", c->name);
    ts_report_error(k->report, "case", TS_BAD, &c->error);
}

static void check_case(ts_check *k, ts_case *c)
{
    if (c->kind == TS_CASE_BROKEN)
        check_broken(k, c);
    else if (c->kind == TS_CASE_STREAM)
        ts_check_stream_case(k, c);
    else
        ts_check_external_case(k, c);
}

static void check_canaries(ts_check *k)
{
    ts_error err = {0};
    ts_report_begin(k->report, "canaries", "arithmetic");
    ts_status s = ts_canaries(&err);
    if (s)
        ts_report_error(k->report, "canaries", s, &err);
    else
        ts_report_add(k->report, "canaries", "", TS_EXACT, 0, NULL);
}

/* Selected cases and the reports they fill, in the order of the list. */
typedef struct {
    ts_check *k;
    ts_case **cases;
    ts_report **part;
    size_t n;
} selection;

static void op_case(void *context, size_t i, ts_report *r)
{
    const selection *ops = context;
    ts_check one = *ops->k;
    one.report = r;
    ts_check_op_case(&one, ops->cases[i]);
}

static void op_case_done(void *context, size_t i)
{
    const selection *ops = context;
    ts_report_progress(ops->k->report, ops->part[i]);
}

/* They fork, so each is a process of its own. */
static void run_ops(selection *ops)
{
    for (size_t i = 0; i < ops->n; i++)
        ts_report_begin(ops->part[i], ts_op_table[ops->cases[i]->op].name, ops->cases[i]->name);
    ts_pool_run(&(ts_pool){.n = ops->n,
                           .width = (size_t)omp_get_max_threads(),
                           .seconds = 2 * ts_check_seconds(ops->k) + 5,
                           .work = op_case,
                           .done = op_case_done,
                           .context = ops,
                           .part = ops->part});
}

static void run_others(const selection *others)
{
    omp_set_max_active_levels(2); /* streams start threads of their own */
#pragma omp parallel for schedule(dynamic, 1)
    for (size_t i = 0; i < others->n; i++) {
        ts_check one = *others->k;
        one.report = others->part[i];
        check_case(&one, others->cases[i]);
#pragma omp critical(progress)
        ts_report_progress(others->k->report, others->part[i]);
    }
}

static bool selection_new(selection *s, ts_check *k, size_t n)
{
    *s = (selection){k, malloc((n + 1) * sizeof(ts_case *)), malloc((n + 1) * sizeof(ts_report *)), 0};
    return s->cases && s->part;
}

static void selection_free(selection *s)
{
    free(s->cases);
    free(s->part);
}

/* Cases are independent: on all cores, each into a report of its own; these are joined in the order of the list. */
static void run_cases(ts_check *k, ts_case *cases, size_t n)
{
    ts_report *part = calloc(n + 1, sizeof *part);
    selection ops = {0}, others = {0};
    if (part && selection_new(&ops, k, n) && selection_new(&others, k, n)) {
        for (size_t i = 0; i < n; i++) {
            selection *s = cases[i].kind == TS_CASE_OP ? &ops : &others;
            if (!ts_check_selects(k, &cases[i]))
                continue;
            s->cases[s->n] = &cases[i];
            s->part[s->n++] = &part[i];
        }
        k->report->total = ops.n + others.n;
        run_ops(&ops); /* first: see ts_pool_run */
        run_others(&others);
        for (size_t i = 0; i < n; i++)
            ts_report_join(k->report, &part[i]);
    } else {
        k->report->lost = true;
    }
    selection_free(&ops);
    selection_free(&others);
    free(part);
}

static bool compared(const ts_report *r, const ts_schedule *s)
{
    size_t n = strlen(s->name);
    for (size_t i = 0; i < r->n; i++)
        if (strncmp(r->v[i].what, s->name, n) == 0 && (r->v[i].what[n] == ' ' || r->v[i].what[n] == 0))
            return true;
    return false;
}

/* How many selected cases are of this operation. */
static size_t selected(const ts_check *k, ts_op_id op, const ts_case *cases, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += cases[i].kind == TS_CASE_OP && cases[i].op == op && ts_check_selects(k, &cases[i]);
    return found;
}

/* Schedules that cannot run here are skipped, each by name. */
static void check_absent(ts_check *k, const ts_case *cases, size_t n)
{
    const ts_schedule *s;
    for (int i = 0; (s = ts_check_absent_at(k, i)) != NULL; i++) {
        char text[128];
        if (k->o.schedule || selected(k, s->op, cases, n) == 0)
            continue;
        snprintf(text, sizeof text, "it needs %s, which this CPU has not or TS_CPU forbids\n", s->isa);
        ts_report_begin(k->report, ts_op_table[s->op].name, "");
        ts_report_add(k->report, s->name, "", TS_SKIP, 0, text);
    }
}

/* A schedule of which nothing was compared: said of the registry's if cases of its operation were selected, and a
 * failure where somebody asked for it. */
static void check_idle(ts_check *k, const ts_case *cases, size_t n)
{
    const ts_schedule *s;
    for (int i = 0; (s = ts_check_schedule_at(k, i)) != NULL; i++) {
        bool any = selected(k, s->op, cases, n) > 0, foreign = !ts_schedule_at(i);
        bool named = k->o.schedule && strcmp(k->o.schedule, s->name) == 0;
        if (compared(k->report, s) || (!foreign && (!any || (k->o.schedule && !named))))
            continue;
        ts_report_begin(k->report, ts_op_table[s->op].name, "");
        ts_report_add(k->report, s->name, "", named || foreign ? TS_FAIL : TS_SKIP, 0,
                      any && (named || !k->o.schedule)
                          ? "nothing of it was compared: it accepts none of the selected cases that ran\n"
                          : "nothing of it was compared: the selection leaves it out\n");
    }
}

void ts_check_run(ts_check *k, ts_case *cases, size_t n)
{
    bool filtered = k->o.op || k->o.case_glob || k->o.schedule || k->o.covers;
    k->report->narrowed = filtered || k->o.only;
    if (!filtered && wanted(k, "canaries"))
        check_canaries(k);
    if (!filtered && wanted(k, "tables"))
        ts_check_tables(k);
    if (!filtered && wanted(k, "files"))
        ts_check_files(k);
    run_cases(k, cases, n);
    if (!k->o.rewrite && k->report->n > 0) {
        check_idle(k, cases, n);
        check_absent(k, cases, n);
    }
    if (k->o.no_own && k->report->n > 0) {
        ts_report_begin(k->report, "own", "op and stream cases");
        ts_report_add(k->report, "recorded hashes", "", TS_SKIP, 0, "not compared, as --no-own asks\n");
    }
    ts_check_models_free(k);
}
