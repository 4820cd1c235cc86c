#include "check/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utf8proc.h>

const char *const ts_verdict_name[TS_VERDICTS] = {"EXACT", "BOUND", "SAME", "NEAR-TIE", "FAIL", "SKIP"};

/* Names come from files: bytes that are no UTF-8 would spoil JSON, XML and TAP. */
static void clean(char *text)
{
    utf8proc_int32_t c;
    for (utf8proc_uint8_t *p = (utf8proc_uint8_t *)text; *p;) {
        utf8proc_ssize_t n = utf8proc_iterate(p, -1, &c);
        if (n < 1)
            *p = '?';
        p += n < 1 ? 1 : n;
    }
}

/* Cuts what does not fit: names are for reading. */
static void copy_text(char *to, size_t size, const char *from)
{
    size_t n = strnlen(from, size - 1);
    memcpy(to, from, n);
    to[n] = 0;
    clean(to);
}

static char *own_text(ts_report *r, const char *from)
{
    size_t size = from ? strlen(from) + 1 : 0;
    char *to = from ? malloc(size) : NULL;
    if (to) {
        memcpy(to, from, size);
        clean(to);
    }
    r->lost |= from && !to;
    return to;
}

static void free_finding(ts_finding *f)
{
    free(f->detail);
    free(f->json);
}

void ts_report_begin(ts_report *r, const char *group, const char *subject)
{
    copy_text(r->group, sizeof r->group, group);
    copy_text(r->subject, sizeof r->subject, subject);
}

/* Takes over what x owns. */
static void keep(ts_report *r, ts_finding x)
{
    if (r->n == r->room) {
        size_t room = r->room ? 2 * r->room : 256;
        ts_finding *v = realloc(r->v, room * sizeof *v);
        if (!v) {
            r->lost = true;
            free_finding(&x);
            return;
        }
        r->v = v;
        r->room = room;
    }
    r->v[r->n++] = x;
}

void ts_report_now(ts_report *r, const char *what)
{
    copy_text(r->now, sizeof r->now, what);
    if (r->stream > 0)
        ts_report_stream_now(r);
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
    for (size_t i = 0; i < part->n; i++)
        keep(whole, part->v[i]);
    for (int v = 0; v < TS_VERDICTS; v++)
        whole->count[v] += part->count[v];
    whole->lost |= part->lost;
    free(part->v);
}

void ts_report_add_measured(ts_report *r, const char *what, const char *output, ts_verdict verdict, double worst,
                            const char *detail, const cJSON *measured)
{
    ts_finding f = {.verdict = verdict, .worst = worst};
    char *json = measured ? cJSON_PrintUnformatted(measured) : NULL;
    memcpy(f.group, r->group, sizeof f.group);
    memcpy(f.subject, r->subject, sizeof f.subject);
    copy_text(f.what, sizeof f.what, what);
    copy_text(f.output, sizeof f.output, output);
    f.detail = own_text(r, detail);
    f.json = own_text(r, json);
    cJSON_free(json);
    r->count[verdict]++;
    if (r->stream > 0) {
        ts_report_stream_put(r, &f);
        free_finding(&f);
    } else {
        keep(r, f);
    }
}

void ts_report_add(ts_report *r, const char *what, const char *output, ts_verdict verdict, double worst,
                   const char *detail)
{
    ts_report_add_measured(r, what, output, verdict, worst, detail, NULL);
}

void ts_report_keep(ts_report *r, ts_finding x)
{
    r->count[x.verdict]++;
    keep(r, x);
}

void ts_report_error(ts_report *r, const char *what, ts_status status, const ts_error *err)
{
    char text[1024], line[1100];
    snprintf(line, sizeof line, "%s (status %d)\n", ts_error_text(err, text, sizeof text), (int)status);
    ts_report_add(r, what, err->tensor, TS_FAIL, 0, line);
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
        char *repro = x->verdict == TS_FAIL ? ts_report_repro(r, x) : NULL;
        if (repro)
            cJSON_AddStringToObject(e, "repro", repro);
        free(repro);
        if (x->json)
            cJSON_AddItemToObject(e, "measured", cJSON_Parse(x->json));
        cJSON_AddItemToArray(list, e);
    }
    cJSON_AddItemToObject(o, "findings", list);
    return o;
}

const char *ts_report_void(const ts_report *r)
{
    if (r->lost)
        return "out of memory: findings were lost";
    if (r->n == 0)
        return "nothing was checked";
    return r->n == (size_t)r->count[TS_SKIP] ? "nothing was compared" : NULL;
}

ts_status ts_report_status(const ts_report *r)
{
    return r->count[TS_FAIL] || ts_report_void(r) ? TS_DIFFERS : TS_OK;
}

void ts_report_free(ts_report *r)
{
    for (size_t i = 0; i < r->n; i++)
        free_finding(&r->v[i]);
    free(r->v);
    memset(r, 0, sizeof *r);
}
