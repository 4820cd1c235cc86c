/* Findings as TAP, version 13. */
#include <stdlib.h>
#include <string.h>

#include "check/report.h"

/* One line: '#' and '\' mean something in a description, control characters nothing good anywhere. */
static void put_text(FILE *f, const char *text, size_t n, bool description)
{
    for (size_t i = 0; i < n; i++) {
        if (description && (text[i] == '#' || text[i] == '\\'))
            fputc('\\', f);
        bool control = ((unsigned char)text[i] < 32 && text[i] != '\t') || text[i] == 127;
        fputc(control ? '?' : text[i], f);
    }
}

static void put_detail(FILE *f, const char *line)
{
    while (*line) {
        size_t n = strcspn(line, "\n");
        fputs("# ", f);
        put_text(f, line, n, false);
        fputc('\n', f);
        line += n + (line[n] == '\n');
    }
}

/* The plan comes first, so that a report that was cut off is short of tests. */
void ts_report_tap(const ts_report *r, FILE *f)
{
    const char *red = ts_report_void(r);
    fprintf(f, "TAP version 13\n1..%zu\n", r->n + (red != NULL));
    for (size_t i = 0; i < r->n; i++) {
        const ts_finding *x = &r->v[i];
        fprintf(f, "%s %zu - ", x->verdict == TS_FAIL ? "not ok" : "ok", i + 1);
        char title[sizeof *x];
        ts_report_title(x, title, sizeof title);
        put_text(f, title, strlen(title), true);
        if (x->verdict == TS_SKIP) {
            const char *why = x->detail ? x->detail : "";
            fputs(" # SKIP ", f);
            put_text(f, why, strcspn(why, "\n"), false);
        }
        fputc('\n', f);
        char *repro = x->verdict == TS_FAIL ? ts_report_repro(r, x) : NULL;
        if (x->verdict == TS_FAIL && x->detail)
            put_detail(f, x->detail);
        if (repro) {
            fputs("# repro: ", f);
            put_text(f, repro, strlen(repro), false);
            fputc('\n', f);
        }
        free(repro);
    }
    if (red)
        fprintf(f, "not ok %zu - %s\n", r->n + 1, red);
}
