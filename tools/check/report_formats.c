/* Findings for other tools: JUnit XML and TAP. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check/report.h"
#include "format/json.h"

/* XML text or attribute; control characters, which XML 1.0 cannot hold, become "?". */
static void put_xml(FILE *f, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", f);
        else if (*text == '>')
            fputs("&gt;", f);
        else if (*text == '&')
            fputs("&amp;", f);
        else if (*text == '"')
            fputs("&quot;", f);
        else
            fputc((unsigned char)*text < 32 && *text != '\n' && *text != '\t' ? '?' : *text, f);
    }
}

static void put_case(FILE *f, const ts_finding *x)
{
    fputs("  <testcase classname=\"", f);
    put_xml(f, x->group);
    fputs("\" name=\"", f);
    put_xml(f, x->subject);
    fputs(": ", f);
    put_xml(f, x->what);
    fputs(" ", f);
    put_xml(f, x->output);
    fputs("\"", f);
    if (x->verdict != TS_FAIL && x->verdict != TS_SKIP) {
        fputs("/>\n", f);
        return;
    }
    fprintf(f, ">\n    <%s message=\"%s\">", x->verdict == TS_FAIL ? "failure" : "skipped",
            ts_verdict_name[x->verdict]);
    put_xml(f, x->detail ? x->detail : "");
    fprintf(f, "</%s>\n  </testcase>\n", x->verdict == TS_FAIL ? "failure" : "skipped");
}

ts_status ts_report_junit(const ts_report *r, const char *path, ts_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return ts_no_memory(err, sizeof *f);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", f);
    fprintf(
        f, "<testsuite name=\"touchstone check\" tests=\"%zu\" failures=\"%lld\" skipped=\"%lld\" errors=\"%d\">\n",
        r->n, r->count[TS_FAIL], r->count[TS_SKIP], r->lost);
    for (size_t i = 0; i < r->n; i++)
        put_case(f, &r->v[i]);
    fputs("</testsuite>\n", f);
    ts_status s = fclose(f) == 0 ? ts_write_file(path, text, size, err) : ts_no_memory(err, size);
    free(text);
    return s;
}

void ts_report_tap(const ts_report *r, FILE *f)
{
    fprintf(f, "TAP version 13\n1..%zu\n", r->n + r->lost);
    for (size_t i = 0; i < r->n; i++) {
        const ts_finding *x = &r->v[i];
        fprintf(f, "%s %zu - %s: %s: %s %s%s\n", x->verdict == TS_FAIL ? "not ok" : "ok", i + 1, x->group,
                x->subject, x->what, x->output, x->verdict == TS_SKIP ? " # SKIP" : "");
        for (const char *line = x->detail; line && *line && x->verdict == TS_FAIL;) {
            int len = (int)strcspn(line, "\n");
            fprintf(f, "# %.*s\n", len, line);
            line += len + (line[len] == '\n');
        }
    }
    if (r->lost)
        fprintf(f, "not ok %zu - out of memory: findings were lost\n", r->n + 1);
}
