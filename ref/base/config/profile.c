/* The table of profiles. */
#include "config/profile.h"

#include <stddef.h>
#include <string.h>

static const ts_profile table[] = {
    {.name = "exact", .kv = TS_KV_REAL, .codes = false},
    {.name = "ts", .kv = TS_KV_BF16, .codes = true},
};

enum { COUNT = sizeof table / sizeof *table };

const ts_profile *ts_profile_at(int i)
{
    return i >= 0 && i < COUNT ? &table[i] : NULL;
}

const ts_profile *ts_profile_find(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}
