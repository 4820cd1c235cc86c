/* Foreign code is rehearsed in a child before this process runs it. */
#ifndef TS_TOOLS_REHEARSE_H
#define TS_TOOLS_REHEARSE_H

#include <stddef.h>
#include "num/status.h"

/* Calls run(context) in a forked child. TS_OK: it returned. TS_BAD: text says how it ended instead:
 * "crashes: signal 11 (...)", "ends the process with exit code 0", "takes more than 20 seconds". */
ts_status ts_rehearse(void (*run)(void *context), void *context, int seconds, char *text, size_t size);

#endif
