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

static void put(FILE *f, const ts_report *r, const ts_finding *x)
{
    static const char *const stage[] = {"files", "tables", "canaries"};
    int n = (int)strcspn(x->what, " ");
    fputs("touchstone check", f);
    for (int i = 0; i < 3; i++)
        if (strcmp(x->group, stage[i]) == 0)
            fprintf(f, " --only %s", stage[i]);
    fputs(r->options ? r->options : "", f);
    if (ts_op_find(x->group) == TS_OP_COUNT && !strchr(x->subject, '/'))
        return;
    if (x->subject[0])
        ts_report_option(f, "--case", x->subject);
    if (memchr(x->what, '.', (size_t)n))
        fprintf(f, " --schedule %.*s", n, x->what);
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
