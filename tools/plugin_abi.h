/* What a shared object must hold to be a plugin: these two symbols, and nothing
 * of libtouchstone. docs/schedules.md has a worked one. */
#ifndef TS_TOOLS_PLUGIN_ABI_H
#define TS_TOOLS_PLUGIN_ABI_H

#include "schedule.h"

/* Counted up when a struct that a schedule reads changes. */
#define TS_PLUGIN_VERSION 4

/* The list of operations and the size of a schedule are in it, so that a plugin made for others is refused even
 * if nobody counted up: version * 1000000 + operations * 1000 + bytes of ts_schedule. */
#define TS_PLUGIN_ABI \
    ((uint32_t)TS_PLUGIN_VERSION * 1000000u + (uint32_t)TS_OP_COUNT * 1000u + (uint32_t)sizeof(ts_schedule))

/* Defined by the plugin: TS_PLUGIN_ABI, and its schedules with NULL behind the last. */
extern const uint32_t ts_plugin_abi __attribute__((visibility("default")));
extern const ts_schedule *const ts_plugin_schedules[] __attribute__((visibility("default")));

#endif
