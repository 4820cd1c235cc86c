/* Schedules from outside the tree: shared objects given with --plugin. */
#ifndef TS_TOOLS_PLUGIN_H
#define TS_TOOLS_PLUGIN_H

#include <stddef.h>
#include "num/status.h"
#include "plugin_abi.h"

enum { TS_MAX_PLUGINS = 16, TS_MAX_PLUGIN_SCHEDULES = 1024 };

typedef struct {
    void *library[TS_MAX_PLUGINS];
    size_t n;
    const ts_schedule *schedule[TS_MAX_PLUGIN_SCHEDULES + 1]; /* of all of them; NULL behind the last */
    size_t schedules;
} ts_plugins;

/* Loads them and adds their schedules, each looked at: TS_BAD names the file, the schedule and the reason. What a
 * library does when it is loaded is tried in a child first. They stay loaded, and whoever has loaded any leaves by
 * _exit: a destructor or an atexit handler of theirs could do anything to the verdict. */
ts_status ts_plugins_open(const char *const *path, size_t n, ts_plugins *out, ts_error *err);

/* TS_BAD unless `s` is complete, of a known operation, its order, a known isa and a back end, and of a name that
 * neither the registry nor earlier[n] has. `file` is for the error. */
ts_status ts_plugin_check(const ts_schedule *s, const ts_schedule *const *earlier, size_t n, const char *file,
                          ts_error *err);

#endif
