#include <stdlib.h>
#include <sys/stat.h>

#include "verify.h"

/* A folder that only happens to be called golden is not taken. */
static bool holds_cases(const char *cases)
{
    struct stat s;
    return stat(cases, &s) == 0 && S_ISDIR(s.st_mode);
}

const char *ts_golden_folder(const char *given)
{
    const char *set = getenv("TOUCHSTONE_GOLDEN");
    if (given)
        return given;
    if (set && *set)
        return set;
    return holds_cases("golden/own/cases") || !holds_cases(TS_INSTALLED_GOLDEN "/own/cases") ? "golden"
                                                                                             : TS_INSTALLED_GOLDEN;
}
