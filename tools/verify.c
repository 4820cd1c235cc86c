#include "verify.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check/run.h"
#include "plugin.h"

typedef struct {
    ts_check k;
    ts_case *cases;
    size_t n;
} job;

static void *run(void *context)
{
    job *j = context;
    ts_check_run(&j->k, j->cases, j->n);
    return NULL;
}

/* On a thread of its own: a child forked from one that has started OpenMP threads could start none. */
static ts_status run_apart(job *j, ts_error *err)
{
    pthread_t thread;
    int failed = pthread_create(&thread, NULL, run, j);
    if (!failed)
        failed = pthread_join(thread, NULL);
    return failed ? ts_fail(err, TS_BAD, NULL, NULL, "no thread to run the checks: %s", strerror(failed)) : TS_OK;
}

static ts_status look_at_extra(const ts_verify_options *o, ts_error *err)
{
    ts_status s = TS_OK;
    for (size_t i = 0; !s && o->extra && o->extra[i]; i++)
        s = ts_plugin_check(o->extra[i], o->extra, i, NULL, err);
    return s;
}

static void hand_over(const ts_verify_options *o, const ts_report *r)
{
    for (size_t i = 0; o->found && i < r->n; i++) {
        const ts_finding *f = &r->v[i];
        ts_verify_finding x = {f->group, f->subject, f->what, f->output, ts_verdict_name[f->verdict],
                               f->worst, f->detail};
        o->found(o->user, &x);
    }
}

static ts_status conclude(const ts_verify_options *o, const ts_report *r, ts_verify_counts *out, ts_error *err)
{
    if (r->n == 0 && !r->lost)
        return ts_fail(err, TS_USAGE, NULL, NULL, "no case matches");
    if (out)
        *out = (ts_verify_counts){ts_verdicts_passed(r->count), r->count[TS_FAIL],
                                  r->count[TS_SKIP]};
    hand_over(o, r);
    if (o->report)
        ts_report_print(r, o->report);
    ts_status s = ts_report_status(r);
    const char *why = ts_report_void(r);
    return s ? ts_fail(err, s, NULL, NULL, "%lld comparisons failed%s%s", r->count[TS_FAIL], why ? "; " : "",
                       why ? why : "")
             : TS_OK;
}

ts_status ts_verify(const ts_verify_options *o, ts_verify_counts *out, ts_error *err)
{
    struct ts_model_cache *models = NULL;
    ts_report report = {.quiet = true};
    job j = {.k = {.report = &report, .models = &models}};
    j.k.o = (ts_check_options){.golden = ts_golden_folder(o->golden),
                               .op = o->op,
                               .case_glob = o->cases,
                               .schedule = o->schedule,
                               .seed = o->seed,
                               .only = "ops",
                               .extra = o->extra,
                               .timeout = o->timeout};
    char folder[512];
    ts_status s = look_at_extra(o, err);
    if (!s)
        s = ts_check_find_schedule(&j.k, err);
    ts_check_path(&j.k, "own/cases", folder, sizeof folder);
    if (!s)
        s = ts_case_list(folder, &j.cases, &j.n, err);
    if (!s)
        s = run_apart(&j, err);
    if (!s)
        s = conclude(o, &report, out, err);
    ts_case_list_free(j.cases, j.n);
    ts_report_free(&report);
    return s;
}
