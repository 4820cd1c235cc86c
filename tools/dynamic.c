#include "dynamic.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* dlerror starts with the path, which the error names already. */
static const char *reason(const char *file)
{
    const char *text = dlerror();
    size_t n = strlen(file);
    if (!text)
        return "cannot be loaded";
    return strncmp(text, file, n) == 0 && strncmp(text + n, ": ", 2) == 0 ? text + n + 2 : text;
}

ts_status ts_dynamic_open(const char *path, void **out, ts_error *err)
{
    char file[4096];
    int n = snprintf(file, sizeof file, "%s%s", strchr(path, '/') ? "" : "./", path);
    if (n < 0 || (size_t)n >= sizeof file)
        return ts_fail(err, TS_BAD, path, NULL, "the path is too long");
    *out = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    return *out ? TS_OK
                : ts_fail(err, TS_BAD, path, NULL, "not a shared object that can be loaded: %s", reason(file));
}

ts_status ts_dynamic_object(void *library, const char *path, const char *name, const void **out, ts_error *err)
{
    *out = dlsym(library, name);
    return *out ? TS_OK : ts_fail(err, TS_BAD, path, name, "no such symbol: not a plugin (docs/schedules.md)");
}

void ts_dynamic_close(void *library)
{
    if (library)
        dlclose(library);
}
