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

static const char *const kv_names[] = {[TS_KV_REAL] = "real",
                                       [TS_KV_BF16] = "bf16",
                                       [TS_KV_F16] = "f16",
                                       [TS_KV_E4M3] = "fp8-e4m3",
                                       [TS_KV_E5M2] = "fp8-e5m2"};

const char *ts_kv_name(ts_kv_dtype d)
{
    return kv_names[d];
}

bool ts_kv_find(const char *name, ts_kv_dtype *out)
{
    for (int i = TS_KV_REAL; i <= TS_KV_E5M2; i++)
        if (strcmp(kv_names[i], name) == 0) {
            *out = (ts_kv_dtype)i;
            return true;
        }
    return false;
}
