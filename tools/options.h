/* Command lines: a table of options says how each is read and what --help says. */
#ifndef TS_TOOLS_OPTIONS_H
#define TS_TOOLS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "num/status.h"

typedef enum {
    TS_OPT_FLAG, /* bool */
    TS_OPT_TEXT, /* const char *; not "" if value is FILE... or DIR */
    TS_OPT_INT,  /* int64_t, lo..hi */
    TS_OPT_U64,  /* uint64_t, decimal */
    TS_OPT_REAL, /* float, finite; not a number that rounds to a subnormal one or to 0 */
    TS_OPT_LIST, /* ts_option_list; may be given again */
} ts_option_kind;

enum { TS_MAX_LIST = 16 };

typedef struct {
    const char *text[TS_MAX_LIST];
    size_t n;
} ts_option_list;

typedef struct {
    const char *name; /* long form */
    char letter;      /* short form, or 0 */
    ts_option_kind kind;
    void *out; /* untouched when the option is absent */
    int64_t lo, hi;
    const char *value, *help; /* for --help; value NULL for flags */
} ts_option;

typedef struct {
    const char *usage; /* after "touchstone " */
    const ts_option *option;
    size_t n;             /* at most TS_MAX_OPTIONS */
    const char **operand; /* n_operands arguments that are no options */
    int n_operands;
    int optional; /* of them, the last; untouched when absent */
} ts_command_line;

enum { TS_MAX_OPTIONS = 32, TS_GO_ON = -1 };

/* TS_GO_ON, or the exit code: TS_OK after --help, TS_USAGE after a message. */
int ts_options_parse(int argc, char **argv, const ts_command_line *c);

/* Does --json stand anywhere? An error before it is reported as JSON too. */
bool ts_wants_json(int argc, char **argv);

/* The whole string must be the number; "," separated for the list. */
bool ts_parse_int(const char *text, int64_t lo, int64_t hi, int64_t *out);
bool ts_parse_u64(const char *text, uint64_t *out);
bool ts_parse_real(const char *text, float *out);
ts_status ts_parse_ids(const char *text, int32_t **ids, size_t *n, ts_error *err);

#endif
