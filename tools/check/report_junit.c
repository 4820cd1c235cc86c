/* Findings as JUnit XML. */
#include <stdlib.h>
#include <string.h>

#include "check/report.h"
#include "format/json.h"

/* Text or attribute: what XML 1.0 cannot hold (control characters, U+FFFE, U+FFFF) becomes "?". */
static void put_text(FILE *f, const char *text, size_t n)
{
    static const char special[] = "<>&\"'";
    static const char *const name[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"};
    for (size_t i = 0; i < n; i++) {
        const char *s = strchr(special, text[i]);
        bool none = i + 2 < n && memcmp(text + i, "\xef\xbf", 2) == 0 && (unsigned char)text[i + 2] >= 0xbe;
        if (s && *s)
            fputs(name[s - special], f);
        else if (none || ((unsigned char)text[i] < 32 && text[i] != '\n' && text[i] != '\t'))
            fputc('?', f);
        else
            fputc(text[i], f);
        i += none ? 2 : 0;
    }
}

static void put(FILE *f, const char *text)
{
    put_text(f, text, strlen(text));
}

static void put_case(FILE *f, const ts_report *r, const ts_finding *x)
{
    const char *detail = x->detail ? x->detail : "", *kind = x->verdict == TS_FAIL ? "failure" : "skipped";
    char title[sizeof *x];
    ts_finding named = *x;
    named.group[0] = 0; /* it is the class */
    ts_report_title(&named, title, sizeof title);
    fputs("    <testcase classname=\"", f);
    put(f, x->group);
    fputs("\" name=\"", f);
    put(f, title);
    if (x->verdict != TS_FAIL && x->verdict != TS_SKIP) {
        fputs("\"/>\n", f);
        return;
    }
    fprintf(f, "\">\n      <%s message=\"", kind);
    put_text(f, detail, strcspn(detail, "\n"));
    fputs("\">", f);
    put(f, detail);
    char *repro = x->verdict == TS_FAIL ? ts_report_repro(r, x) : NULL;
    fputs(repro ? "repro: " : "", f);
    put(f, repro ? repro : "");
    free(repro);
    fprintf(f, "</%s>\n    </testcase>\n", kind);
}

/* The suite of the finding at `first` and all of its group. */
static void put_suite(FILE *f, const ts_report *r, size_t first)
{
    const char *group = r->v[first].group;
    long long tests = 0, count[TS_VERDICTS] = {0};
    for (size_t i = first; i < r->n; i++)
        if (strcmp(r->v[i].group, group) == 0) {
            tests++;
            count[r->v[i].verdict]++;
        }
    fputs("  <testsuite name=\"", f);
    put(f, group);
    fprintf(f, "\" tests=\"%lld\" failures=\"%lld\" errors=\"0\" skipped=\"%lld\">\n", tests, count[TS_FAIL],
            count[TS_SKIP]);
    for (size_t i = first; i < r->n; i++)
        if (strcmp(r->v[i].group, group) == 0)
            put_case(f, r, &r->v[i]);
    fputs("  </testsuite>\n", f);
}

static bool first_of_group(const ts_report *r, size_t i)
{
    for (size_t j = i; j > 0; j--)
        if (strcmp(r->v[j - 1].group, r->v[i].group) == 0)
            return false;
    return true;
}

static void put_report(FILE *f, const ts_report *r)
{
    const char *why = ts_report_void(r);
    bool red = why != NULL;
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", f);
    fprintf(f, "<testsuites name=\"touchstone check\" tests=\"%zu\" failures=\"%lld\" errors=\"%d\" ", r->n + red,
            r->count[TS_FAIL], red);
    fprintf(f, "skipped=\"%lld\">\n", r->count[TS_SKIP]);
    for (size_t i = 0; i < r->n; i++)
        if (first_of_group(r, i))
            put_suite(f, r, i);
    if (red)
        fprintf(f,
                "  <testsuite name=\"run\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">\n"
                "    <testcase classname=\"run\" name=\"complete\"><error message=\"%s\"/></testcase>\n"
                "  </testsuite>\n",
                why);
    fputs("</testsuites>\n", f);
}

ts_status ts_report_junit(const ts_report *r, const char *path, ts_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return ts_no_memory(err, 0);
    put_report(f, r);
    ts_status s = fclose(f) == 0 ? ts_write_file(path, text, size, err) : ts_no_memory(err, size);
    free(text);
    return s;
}
