/* Findings as TAP, version 13. */
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

static void put_description(FILE *f, const ts_finding *x)
{
    const char *const part[] = {x->group, ": ", x->subject, ": ", x->what, x->output[0] ? " " : "", x->output};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        put_text(f, part[i], strlen(part[i]), true);
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
    bool red = r->lost || r->n == 0;
    fprintf(f, "TAP version 13\n1..%zu\n", r->n + red);
    for (size_t i = 0; i < r->n; i++) {
        const ts_finding *x = &r->v[i];
        fprintf(f, "%s %zu - ", x->verdict == TS_FAIL ? "not ok" : "ok", i + 1);
        put_description(f, x);
        if (x->verdict == TS_SKIP) {
            const char *why = x->detail ? x->detail : "";
            fputs(" # SKIP ", f);
            put_text(f, why, strcspn(why, "\n"), false);
        }
        fputc('\n', f);
        if (x->verdict == TS_FAIL && x->detail)
            put_detail(f, x->detail);
    }
    if (red)
        fprintf(f, "not ok %zu - %s\n", r->n + 1,
                r->lost ? "out of memory: findings were lost" : "nothing was checked");
}
