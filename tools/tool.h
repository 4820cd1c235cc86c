/* The touchstone command: one file per sub-command, this plumbing between them.
 * Exit codes are ts_status: 0 ok, 1 differs, 2 usage or missing tool, 3 bad input. */
#ifndef TS_TOOLS_TOOL_H
#define TS_TOOLS_TOOL_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include "num/status.h"

#define TS_VERSION "0.1.0"

typedef struct {
    const char *name, *summary;
    int (*run)(int argc, char **argv); /* argv[0] = the sub-command */
} ts_command;

int ts_cmd_run(int argc, char **argv);
int ts_cmd_trace(int argc, char **argv);
int ts_cmd_diff(int argc, char **argv);
int ts_cmd_quantize(int argc, char **argv);
int ts_cmd_convert(int argc, char **argv);
int ts_cmd_synth(int argc, char **argv);
int ts_cmd_op(int argc, char **argv);
int ts_cmd_layer(int argc, char **argv);
int ts_cmd_inspect(int argc, char **argv);
int ts_cmd_check(int argc, char **argv);
int ts_cmd_bench(int argc, char **argv);
int ts_cmd_profiles(int argc, char **argv);
int ts_cmd_stats(int argc, char **argv);
int ts_cmd_golden(int argc, char **argv);

/* Prints "touchstone: file: tensor: reason" to stderr and returns the exit code; with json also
 * {"schema":1,"error":{"file","tensor","reason"},"exit":N} to stdout. */
int ts_tool_fail(ts_status status, const ts_error *err, bool json);

/* Flushes stdout: TS_OK, or an error (full disk, closed pipe) and its exit code. */
int ts_tool_flush(bool json);

/* {"schema":1}, to which the caller adds. */
cJSON *ts_tool_json(void);
/* Prints and frees the result of a command, NULL meaning out of memory, and returns `status` if stdout took it. */
int ts_tool_print(cJSON *result, ts_status status);

#endif
