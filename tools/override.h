/* Modules that are quantised in their own way: --override of touchstone quantize. */
#ifndef TS_TOOLS_OVERRIDE_H
#define TS_TOOLS_OVERRIDE_H

#include <stdbool.h>
#include "options.h"

enum { TS_MAX_OVERRIDES = 64, TS_PATTERN = 128 };

typedef struct {
    int bits, group; /* bits 0: not quantised */
} ts_affine;

typedef struct {
    struct {
        char pattern[TS_PATTERN];
        ts_affine kind;
        bool used; /* some module has matched */
    } own[TS_MAX_OVERRIDES];
    size_t n;
    ts_affine all;
} ts_overrides;

/* TS_USAGE for widths and groups that MLX does not have. */
ts_status ts_overrides_read(ts_affine all, const ts_option_list *texts, ts_overrides *out, ts_error *err);
/* How the module of that path is quantised; true if by an override. */
bool ts_overrides_find(ts_overrides *o, const char *module, ts_affine *out);
/* TS_USAGE if a pattern has matched no module. */
ts_status ts_overrides_check_used(const ts_overrides *o, ts_error *err);

#endif
