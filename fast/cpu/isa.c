#include "cpu/isa.h"

#include <stdlib.h>
#include <string.h>

/* Where TS_CPU's cap stands in ts_isas; everything before it is forbidden. -1: no such isa. */
static int cap(void)
{
    const char *asked = getenv("TS_CPU");
    int i = 0;
    if (!asked || !*asked)
        return 0;
    while (ts_isas[i].name && strcmp(ts_isas[i].name, asked) != 0)
        i++;
    return ts_isas[i].name || strcmp(asked, "portable") == 0 ? i : -1;
}

bool ts_isa_runs(const char *isa)
{
    int first = cap();
    if (!isa)
        return true;
    for (int i = 0; ts_isas[i].name; i++)
        if (strcmp(ts_isas[i].name, isa) == 0)
            return first >= 0 && i >= first && ts_isas[i].present();
    return false;
}

ts_status ts_isa_check(ts_error *err)
{
    int i = cap();
    if (i < 0)
        return ts_fail(err, TS_USAGE, NULL, "TS_CPU", "'%s' is not portable or one of this architecture's isas",
                       getenv("TS_CPU"));
    if (getenv("TS_CPU") && *getenv("TS_CPU") && ts_isas[i].name && !ts_isas[i].present())
        return ts_fail(err, TS_USAGE, NULL, "TS_CPU", "this CPU has no %s", ts_isas[i].name);
    return TS_OK;
}
