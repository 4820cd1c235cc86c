/* How a finding is called, and how it is shown alone. */
#include <stdlib.h>
#include <string.h>

#include "case/op.h"
#include "check/report.h"

void ts_report_title(const ts_finding *x, char *out, size_t size)
{
    const char *const part[] = {x->group, x->subject, x->what};
    size_t n = 0;
    for (int i = 0; i < 3 && n < size; i++)
        if (part[i][0])
            n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ": " : "", part[i]);
    if (x->output[0] && n < size)
        snprintf(out + n, size - n, " %s", x->output);
}

void ts_report_option(FILE *f, const char *option, const char *value)
{
    fprintf(f, " %s '", option);
    for (; *value; value++)
        if (*value == '\'')
            fputs("'\\''", f);
        else
            fputc(*value, f);
    fputc('\'', f);
}

/* NULL: a group of cases. */
static const char *stage(const char *group)
{
    static const char *const stages[] = {"files", "tables", "canaries"};
    for (int i = 0; i < 3; i++)
        if (strcmp(group, stages[i]) == 0)
            return stages[i];
    return NULL;
}

static void put(FILE *f, const ts_report *r, const ts_finding *x)
{
    size_t n = strcspn(x->what, " ");
    fprintf(f, "touchstone check%s", r->options ? r->options : "");
    if (stage(x->group))
        fprintf(f, " --only %s", stage(x->group));
    else if (x->subject[0])
        ts_report_option(f, "--case", x->subject);
    if (ts_op_find(x->group) != TS_OP_COUNT && memchr(x->what, '.', n))
        fprintf(f, " --schedule %.*s", (int)n, x->what);
}

char *ts_report_repro(const ts_report *r, const ts_finding *x)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    put(f, r, x);
    if (fclose(f) == 0)
        return text;
    free(text);
    return NULL;
}
