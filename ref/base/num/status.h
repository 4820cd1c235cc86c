/* What a function that can fail returns, and the one error it explains.
 *
 * The values are also the exit codes of the touchstone command. Nothing aborts
 * on bad input: the error names the file, the tensor (or key) and the reason. */
#ifndef TS_NUM_STATUS_H
#define TS_NUM_STATUS_H

typedef enum {
    TS_OK = 0,
    TS_DIFFERS = 1, /* a check failed, two runs differ */
    TS_USAGE = 2,   /* wrong arguments, or a tool that is not installed */
    TS_BAD = 3,     /* bad input: truncated, hostile, wrong shape, NaN; out of memory or disk */
} ts_status;

typedef struct {
    char file[256];   /* path, or "" */
    char tensor[128]; /* tensor, key or field, or "" */
    char reason[384];
} ts_error;

/* Fills *err (which may be NULL) and returns `status`, so that callers write
 * `return ts_fail(err, TS_BAD, path, name, "…")`. file and tensor may be NULL. */
ts_status ts_fail(ts_error *err, ts_status status, const char *file, const char *tensor, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Writes "file: tensor: reason" into buf (empty parts left out), returns buf. */
char *ts_error_text(const ts_error *err, char *buf, unsigned long size);

/* TS_BAD with "out of memory (N bytes)". */
ts_status ts_no_memory(ts_error *err, unsigned long bytes);

#endif
