/* Whole-file reads, and writes that leave either the complete new file or the
 * old one: temporary file in the same folder, fsync, rename. */
#ifndef TS_FORMAT_FILE_H
#define TS_FORMAT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include "num/status.h"

/* Opens a regular file for reading; *fd and *size are set on TS_OK only. */
ts_status ts_file_open(const char *path, int *fd, size_t *size, ts_error *err);
/* Maps a regular file read-only; NULL if it is empty. The caller unmaps. */
ts_status ts_file_map(const char *path, unsigned char **map, size_t *size, ts_error *err);
/* As ts_read_file (format/json.h), but refuses files of more than `limit` bytes. */
ts_status ts_file_read(const char *path, size_t limit, char **text, size_t *size, ts_error *err);

/* A file being written. A target that exists and is not a regular file (/dev/stdout, a pipe) cannot
 * be replaced by rename: it is written in place. */
typedef struct {
    const char *path; /* the caller's string */
    char *temporary;  /* NULL when written in place */
    int fd;
} ts_out;

ts_status ts_out_open(ts_out *o, const char *path, ts_error *err);
ts_status ts_out_write(ts_out *o, const void *data, size_t size, ts_error *err);
/* Ends what ts_out_open began. status TS_OK: the file appears under its name; any other: the
 * temporary file is removed and status is handed back. */
ts_status ts_out_close(ts_out *o, ts_status status, ts_error *err);

#endif
