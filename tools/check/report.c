#include "check/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const ts_verdict_name[TS_VERDICTS] = {"EXACT", "BOUND", "SAME", "FAIL", "SKIP"};

/* Cuts what does not fit: names are for reading. */
static void copy_text(char *to, size_t size, const char *from)
{
    size_t n = strnlen(from, size - 1);
    memcpy(to, from, n);
    to[n] = 0;
}

void ts_report_begin(ts_report *r, const char *group, const char *subject)
{
    copy_text(r->group, sizeof r->group, group);
    copy_text(r->subject, sizeof r->subject, subject);
}

static ts_finding *push(ts_report *r)
{
    if (r->n == r->room) {
        size_t room = r->room ? 2 * r->room : 256;
        ts_finding *v = realloc(r->v, room * sizeof *v);
        if (!v) {
            r->lost = true;
            return NULL;
        }
        r->v = v;
        r->room = room;
    }
    return &r->v[r->n++];
}

void ts_report_progress(ts_report *whole, const ts_report *part)
{
    whole->done++;
    if (whole->quiet || !isatty(STDERR_FILENO))
        return;
    if (part->count[TS_FAIL])
        fprintf(stderr, "\r\033[KFAIL %s %s\n", part->group, part->subject);
    fprintf(stderr, "\r\033[K[%zu/%zu] %s %s", whole->done, whole->total, part->group, part->subject);
}

void ts_report_join(ts_report *whole, ts_report *part)
{
    for (size_t i = 0; i < part->n; i++) {
        ts_finding *f = push(whole);
        if (f)
            *f = part->v[i];
        else
            free(part->v[i].detail);
    }
    for (int v = 0; v < TS_VERDICTS; v++)
        whole->count[v] += part->count[v];
    whole->lost |= part->lost;
    free(part->v);
}

void ts_report_add(ts_report *r, const char *what, const char *output, ts_verdict verdict, double worst,
                   const char *detail)
{
    r->count[verdict]++;
    ts_finding *f = push(r);
    if (!f)
        return;
    *f = (ts_finding){.verdict = verdict, .worst = worst};
    memcpy(f->group, r->group, sizeof f->group);
    memcpy(f->subject, r->subject, sizeof f->subject);
    copy_text(f->what, sizeof f->what, what);
    copy_text(f->output, sizeof f->output, output);
    if (detail) {
        f->detail = malloc(strlen(detail) + 1);
        if (f->detail)
            memcpy(f->detail, detail, strlen(detail) + 1);
        r->lost |= !f->detail;
    }
}

void ts_report_error(ts_report *r, const char *what, ts_status status, const ts_error *err)
{
    char text[1024], line[1100];
    snprintf(line, sizeof line, "%s (status %d)\n", ts_error_text(err, text, sizeof text), (int)status);
    ts_report_add(r, what, err->tensor, TS_FAIL, 0, line);
}

static void print_row(const ts_report *r, const char *group, FILE *f)
{
    long long count[TS_VERDICTS] = {0};
    double worst = 0;
    size_t cases = 0;
    const char *last = "";
    for (size_t i = 0; i < r->n; i++) {
        const ts_finding *x = &r->v[i];
        if (strcmp(x->group, group) != 0)
            continue;
        cases += strcmp(x->subject, last) != 0;
        last = x->subject;
        count[x->verdict]++;
        if (x->worst > worst)
            worst = x->worst;
    }
    fprintf(f, "%-18s %5zu", group, cases);
    for (int v = 0; v < TS_VERDICTS; v++)
        fprintf(f, count[v] ? " %7lld" : "       -", count[v]);
    fprintf(f, worst > 0 ? "   %.3g\n" : "\n", worst);
}

static bool first_of_group(const ts_report *r, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (strcmp(r->v[j].group, r->v[i].group) == 0)
            return false;
    return true;
}

/* The shell command that shows this failure alone. */
static void print_repro(const ts_report *r, const ts_finding *x, FILE *f)
{
    static const char *const only[] = {"files", "tables", "canaries"};
    for (int i = 0; i < 3; i++)
        if (strcmp(x->group, only[i]) == 0) {
            fprintf(f, "repro: touchstone check --only %s%s\n", only[i], r->options);
            return;
        }
    char schedule[64];
    snprintf(schedule, sizeof schedule, "%.*s", (int)strcspn(x->what, " "), x->what);
    fprintf(f, "repro: touchstone check%s", r->options);
    if (x->subject[0])
        fprintf(f, " --case '%s'", x->subject);
    if (strchr(schedule, '.'))
        fprintf(f, " --schedule %s", schedule);
    fprintf(f, "\n");
}

static void print_failures(const ts_report *r, FILE *f)
{
    size_t shown = 0;
    for (size_t i = 0; i < r->n; i++) {
        const ts_finding *x = &r->v[i];
        if (x->verdict != TS_FAIL)
            continue;
        if (shown++ == 0) {
            fputs("\n", f);
            print_repro(r, x, f);
            fprintf(f, "FAIL %s: %s: %s %s\n%s", x->group, x->subject, x->what, x->output,
                    x->detail ? x->detail : "");
            fputs(r->count[TS_FAIL] > 1 ? "\nfurther failures:\n" : "", f);
        } else if (shown <= 20) {
            fprintf(f, "FAIL %s: %s: %s %s\n", x->group, x->subject, x->what, x->output);
        }
    }
    if (shown > 20)
        fprintf(f, "... and %zu more\n", shown - 20);
}

static void print_skips(const ts_report *r, FILE *f)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i].verdict == TS_SKIP)
            fprintf(f, "SKIP %s: %s: %s: %s\n", r->v[i].group, r->v[i].subject, r->v[i].what,
                    r->v[i].detail ? r->v[i].detail : "");
}

void ts_report_print(const ts_report *r, FILE *f)
{
    if (!r->quiet && isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    fprintf(f, "%-18s %5s", "check", "cases");
    for (int v = 0; v < TS_VERDICTS; v++)
        fprintf(f, " %7s", ts_verdict_name[v]);
    fputs("   worst/allowed\n", f);
    for (size_t i = 0; i < r->n; i++)
        if (first_of_group(r, i))
            print_row(r, r->v[i].group, f);
    print_skips(r, f);
    print_failures(r, f);
    long long passed = r->count[TS_EXACT] + r->count[TS_BOUND] + r->count[TS_SAME];
    if (r->lost)
        fputs("touchstone: out of memory, findings were lost: the run does not count\n", f);
    if (r->n == 0)
        fputs("touchstone: nothing was checked\n", f);
    fprintf(f, "\n%s\n%lld passed, %lld failed, %lld skipped\n",
            ts_report_status(r) ? "DIFFERS: see the first failure above"
                                : "bit-equal: every schedule is still the reference's function",
            passed, r->count[TS_FAIL], r->count[TS_SKIP]);
}

cJSON *ts_report_json(const ts_report *r)
{
    cJSON *o = cJSON_CreateObject(), *list = cJSON_CreateArray();
    cJSON_AddNumberToObject(o, "schema", 1);
    cJSON_AddStringToObject(o, "verdict", ts_report_status(r) ? "differs" : "bit-equal");
    for (int v = 0; v < TS_VERDICTS; v++)
        cJSON_AddNumberToObject(o, ts_verdict_name[v], (double)r->count[v]);
    for (size_t i = 0; i < r->n; i++) {
        const ts_finding *x = &r->v[i];
        cJSON *e = cJSON_CreateObject();
        cJSON_AddStringToObject(e, "group", x->group);
        cJSON_AddStringToObject(e, "case", x->subject);
        cJSON_AddStringToObject(e, "what", x->what);
        cJSON_AddStringToObject(e, "output", x->output);
        cJSON_AddStringToObject(e, "verdict", ts_verdict_name[x->verdict]);
        cJSON_AddNumberToObject(e, "worst", x->worst);
        if (x->detail)
            cJSON_AddStringToObject(e, "detail", x->detail);
        cJSON_AddItemToArray(list, e);
    }
    cJSON_AddItemToObject(o, "findings", list);
    return o;
}

ts_status ts_report_status(const ts_report *r)
{
    return r->count[TS_FAIL] || r->lost || r->n == 0 ? TS_DIFFERS : TS_OK;
}

void ts_report_free(ts_report *r)
{
    for (size_t i = 0; i < r->n; i++)
        free(r->v[i].detail);
    free(r->v);
    memset(r, 0, sizeof *r);
}
