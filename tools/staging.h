/* A folder that appears whole or not at all: its files are written to a
 * neighbour, which then takes its name. */
#ifndef TS_TOOLS_STAGING_H
#define TS_TOOLS_STAGING_H

#include <stdbool.h>
#include "num/status.h"

enum { TS_STAGING_PATH = 4096, TS_STAGING_FILES = 16 };

typedef struct {
    char target[TS_STAGING_PATH], folder[TS_STAGING_PATH + 32];
    const char *file[TS_STAGING_FILES]; /* names of what was put into it */
    int n;
    bool replace; /* the target has files already */
} ts_staging;

/* An absent folder holds none; TS_USAGE for what is no readable folder. */
ts_status ts_folder_holds_files(const char *path, bool *holds, ts_error *err);

ts_status ts_staging_open(ts_staging *s, const char *target, ts_error *err);
/* The path of a file to be written; `name` is kept. */
const char *ts_staging_add(ts_staging *s, const char *name, char buf[TS_STAGING_PATH + 128]);
/* The target gets the folder's files. A target with files keeps those of other names; `stale` (NULL terminated)
 * says which of them must go, because they would describe what has been replaced. */
ts_status ts_staging_commit(ts_staging *s, const char *const *stale, ts_error *err);
/* Removes what was written. */
void ts_staging_abort(ts_staging *s);

#endif
