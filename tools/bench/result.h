/* What bench found: rows, each a contender of a match, and what was skipped and why. */
#ifndef TS_BENCH_RESULT_H
#define TS_BENCH_RESULT_H

#include <cjson/cJSON.h>
#include <stdio.h>
#include "bench/measure.h"
#include "bench/probe.h"

enum { TS_RESULT_SCHEMA = 1, TS_MAX_RATIOS = 12 };

typedef struct {
    char to[64]; /* the yardstick: "read", "peak", a schedule or a peer */
    ts_spread v;
} ts_ratio;

typedef struct {
    char op[24], shape[96], footprint[8], name[64];
    ts_contender_kind kind;
    bool disturbed;
    double bytes, macs, tokens, prepared; /* as in ts_contender */
    size_t runs;                          /* rounds */
    ts_spread ns;
    ts_ratio ratio[TS_MAX_RATIOS];
    size_t ratios;
    char skip[384]; /* not timed, and why; then the numbers are 0 */
} ts_row;

typedef struct {
    ts_row *v;
    size_t n, room;
    int threads;
    ts_quiet quiet;
} ts_result;

/* An empty row at the end, or NULL: out of memory. */
ts_row *ts_result_add(ts_result *r);
void ts_result_skip(ts_result *r, const char *op, const char *shape, const char *footprint, const char *name,
                    const char *why);
/* All rows of a match. */
ts_status ts_result_match(ts_result *r, const char *op, const char *shape, const char *footprint, const ts_match *m,
                          ts_error *err);
void ts_result_free(ts_result *r);

extern const char *const ts_kind_name[];

/* The probe's line. */
void ts_result_print_probe(const ts_result *r, FILE *f);
/* A table of rows begin .. r->n - 1, which are of one match. */
void ts_result_print(const ts_result *r, size_t begin, FILE *f);

/* NULL: out of memory. */
cJSON *ts_result_json(const ts_result *r);
/* Rows of NEW whose ratios fell by more than `tolerance` (0.1: a tenth): TS_DIFFERS if there is one. TS_BAD: a file
 * is no result, or the two have no row in common. */
ts_status ts_result_compare(const char *old_path, const char *new_path, double tolerance, ts_error *err);

/* Bars of all ratios, logarithmic, as SVG. */
void ts_result_svg(const ts_result *r, FILE *f);

#endif
