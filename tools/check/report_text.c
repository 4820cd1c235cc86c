/* Findings for people. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/report.h"

/* A screen: what a green report must fit. */
enum { LINES = 45, COLUMNS = 80, SKIP_LINES = 8 };

/* A row of the table. */
typedef struct {
    const char *group;
    size_t cases;
    long long count[TS_VERDICTS];
    double worst;
    const char *last; /* case */
} row;

static row *row_of(row *rows, size_t *n, const char *group)
{
    for (size_t i = *n; i > 0; i--)
        if (strcmp(rows[i - 1].group, group) == 0)
            return &rows[i - 1];
    rows[*n] = (row){.group = group, .last = ""};
    return &rows[(*n)++];
}

/* One per group, in the order in which they first come; NULL: out of memory. */
static row *make_rows(const ts_report *r, size_t *n)
{
    row *rows = malloc((r->n + 1) * sizeof *rows);
    *n = 0;
    for (size_t i = 0; rows && i < r->n; i++) {
        const ts_finding *x = &r->v[i];
        row *w = row_of(rows, n, x->group);
        w->cases += strcmp(x->subject, w->last) != 0;
        w->last = x->subject;
        w->count[x->verdict]++;
        w->worst = x->worst > w->worst ? x->worst : w->worst;
    }
    return rows;
}

static void print_rows(const row *rows, size_t n, FILE *f)
{
    fprintf(f, "%-23s %5s", "check", "cases");
    for (int v = 0; v < TS_VERDICTS; v++)
        fprintf(f, v == TS_NEAR_TIE ? " %8s" : " %6s", ts_verdict_name[v]);
    fputs("  worst\n", f); /* of what is allowed */
    for (size_t i = 0; i < n; i++) {
        fprintf(f, "%-23s %5zu", rows[i].group, rows[i].cases);
        for (int v = 0; v < TS_VERDICTS; v++) {
            int width = v == TS_NEAR_TIE ? 9 : 7;
            if (rows[i].count[v])
                fprintf(f, "%*lld", width, rows[i].count[v]);
            else
                fprintf(f, "%*c", width, '-');
        }
        fprintf(f, rows[i].worst > 0 ? "  %.3g\n" : "\n", rows[i].worst);
    }
}

/* Two rows a line: name, what passed, what was skipped, worst/allowed. */
static void print_folded(const row *rows, size_t n, size_t lines, FILE *f)
{
    size_t shown = n <= 2 * lines ? n : 2 * lines - 1; /* the last place says how many more */
    for (int i = 0; i < 2; i++)
        fprintf(f, "%-21s %6s %4s %5s%s", "check", "passed", "SKIP", "worst", i ? "\n" : " ");
    for (size_t i = 0; i < shown; i++) {
        const long long *count = rows[i].count;
        char skip[8] = "-", worst[8] = "-";
        if (count[TS_SKIP])
            snprintf(skip, sizeof skip, "%.0f", (double)count[TS_SKIP]);
        if (rows[i].worst > 0)
            snprintf(worst, sizeof worst, "%.2f", rows[i].worst);
        fprintf(f, "%-21.21s %6lld %4s %5s%s", rows[i].group, ts_verdicts_passed(count), skip, worst,
                i % 2 || i + 1 == n ? "\n" : " ");
    }
    if (shown < n)
        fprintf(f, "... and %zu more\n", n - shown);
}

static void print_failures(const ts_report *r, FILE *f)
{
    size_t shown = 0;
    for (size_t i = 0; i < r->n; i++) {
        const ts_finding *x = &r->v[i];
        char title[sizeof *x];
        if (x->verdict != TS_FAIL)
            continue;
        ts_report_title(x, title, sizeof title);
        if (shown++ == 0) {
            char *repro = ts_report_repro(r, x);
            fprintf(f, "\nrepro: %s\nFAIL %s\n%s", repro ? repro : "(no memory for it)", title,
                    x->detail ? x->detail : "");
            fputs(r->count[TS_FAIL] > 1 ? "\nfurther failures:\n" : "", f);
            free(repro);
        } else if (shown <= 20) {
            fprintf(f, "FAIL %s\n", title);
        }
    }
    if (shown > 20)
        fprintf(f, "... and %zu more\n", shown - 20);
}

/* Cut into lines that fit. */
static size_t print_wrapped(const char *text, FILE *f)
{
    size_t lines = 0;
    for (size_t n = strlen(text); n > 0; lines++) {
        size_t indent = lines ? 5 : 0, room = COLUMNS - indent - 1, len = n < room ? n : room, at = len;
        while (len < n && at > room / 2 && text[at] != ' ')
            at--;
        len = len < n && text[at] == ' ' ? at : len;
        while (len < n && len > 1 && ((unsigned char)text[len] & 0xc0) == 0x80)
            len--; /* not within a character */
        fprintf(f, "%*s%.*s\n", (int)indent, "", (int)len, text);
        text += len + (text[len] == ' ');
        n = strlen(text);
    }
    return lines;
}

/* The lines it took. */
static size_t print_skips(const ts_report *r, FILE *f)
{
    size_t lines = 0, left = 0;
    for (size_t i = 0; i < r->n; i++) {
        const ts_finding *x = &r->v[i];
        char title[sizeof *x], text[400];
        if (x->verdict != TS_SKIP && x->verdict != TS_NEAR_TIE)
            continue;
        const char *why = x->detail ? x->detail : "";
        ts_report_title(x, title, sizeof title);
        snprintf(text, sizeof text, "%s %s: %.*s", ts_verdict_name[x->verdict], title, (int)strcspn(why, "\n"),
                 why);
        if (lines < SKIP_LINES)
            lines += print_wrapped(text, f);
        else
            left++;
    }
    if (left)
        fprintf(f, "... and %zu more skipped: --json has them all\n", left);
    return lines + (left > 0);
}

/* Folded only where all is well: a failure may scroll. */
static void print_table(const ts_report *r, size_t below, FILE *f)
{
    size_t n;
    row *rows = make_rows(r, &n);
    if (!rows)
        fputs("(no memory for the table)\n", f);
    else if (n + 1 + below <= LINES || ts_report_status(r))
        print_rows(rows, n, f);
    else
        print_folded(rows, n, LINES - 1 - below, f);
    free(rows);
}

void ts_report_print(const ts_report *r, FILE *f)
{
    char *skips = NULL;
    size_t size = 0, lines = 0;
    FILE *held = open_memstream(&skips, &size);
    if (held) {
        lines = print_skips(r, held);
        fclose(held);
    }
    if (!r->quiet && isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    print_table(r, lines + 3, f);
    if (skips)
        fputs(skips, f);
    free(skips);
    print_failures(r, f);
    long long passed = ts_verdicts_passed(r->count);
    const char *claim = r->narrowed ? "all that was compared" : "every schedule is still the reference's function";
    if (ts_report_void(r))
        fprintf(f, "touchstone: %s: the run does not count\n", ts_report_void(r));
    if (!ts_report_status(r))
        fprintf(f, "\nbit-equal: %s\n", claim);
    else
        fprintf(f, "\n%s\n", r->count[TS_FAIL] ? "DIFFERS: see the first failure above" : "NOTHING PROVED");
    fprintf(f, "%lld passed, %lld failed, %lld skipped\n", passed, r->count[TS_FAIL], r->count[TS_SKIP]);
}
