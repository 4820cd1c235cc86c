/* Every regular file below a folder, sorted by path. */
#ifndef TS_FORMAT_FILES_H
#define TS_FORMAT_FILES_H

#include <stddef.h>
#include "num/status.h"

typedef struct {
    char **path; /* each starts with the folder's name */
    size_t n, room;
} ts_files;

/* Hidden files and folders are left out. A folder that cannot be read is TS_BAD. */
ts_status ts_files_list(const char *folder, ts_files *out, ts_error *err);
void ts_files_free(ts_files *f);

#endif
