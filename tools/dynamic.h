/* Shared objects loaded at run time: the one place that calls dlopen. */
#ifndef TS_TOOLS_DYNAMIC_H
#define TS_TOOLS_DYNAMIC_H

#include "num/status.h"

/* `path` is a file, never a name looked up in the library path. Everything it needs must resolve now. */
ts_status ts_dynamic_open(const char *path, void **out, ts_error *err);
/* The address of an object (not a function: C11 has no conversion for those). */
ts_status ts_dynamic_object(void *library, const char *path, const char *name, const void **out, ts_error *err);
void ts_dynamic_close(void *library); /* NULL is fine */

#endif
