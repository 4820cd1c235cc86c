/* What touchstone diff found out, for tools/diff_report.c to tell. */
#ifndef TS_TOOLS_DIFF_H
#define TS_TOOLS_DIFF_H

#include "compare.h"
#include "format/safetensors.h"

typedef struct {
    const char *name;
    const ts_tensor *a, *b; /* NULL where the trace lacks it */
    ts_comparison c;        /* when both are there */
    bool differs;
} ts_diff_entry;

typedef struct {
    const char *path_a, *path_b;
    const ts_safetensors *a, *b;
    ts_diff_entry *entry; /* a's tensors in execution order, then what only b has */
    size_t n;
    size_t common, differing, missing, extra; /* missing in b, only in b */
    bool mixed;                               /* some F32 against F64 */
} ts_diff;

/* The first difference in full and a few more in a line, or all of them. */
void ts_diff_print(const ts_diff *d, int rows, bool all);
cJSON *ts_diff_json(const ts_diff *d);

#endif
