/* `touchstone check` of the operations as a function: the registry's schedules
 * and the caller's, on every case, against ref32. */
#ifndef TS_TOOLS_VERIFY_H
#define TS_TOOLS_VERIFY_H

#include <stdio.h>
#include "num/status.h"
#include "schedule.h"

/* One comparison. Strings live until the callback returns. */
typedef struct {
    const char *op;      /* "rmsnorm" */
    const char *subject; /* the case: "rmsnorm/plain" */
    const char *what;    /* "mine = ref32 (2 threads)" */
    const char *output;  /* the tensor, or "" */
    const char *verdict; /* "EXACT", "BOUND", "FAIL", "SKIP" */
    double worst;        /* largest error as a fraction of its bound; 0 if exact */
    const char *detail;  /* of a FAIL or SKIP: the first place, values in decimal and hex, ulp; or NULL */
} ts_verify_finding;

typedef struct {
    const char *golden;                /* NULL: where the command looks (ts_golden_folder) */
    const char *op, *cases, *schedule; /* only this operation, cases matching this glob, this schedule */
    const char *seed;                  /* decimal: other inputs; recorded hashes do not apply. NULL: as recorded */
    const ts_schedule *const *extra;   /* the caller's, NULL behind the last; NULL: none */
    int timeout;                       /* seconds a schedule may take on a case; 0: 20 */
    FILE *report;                      /* gets the table and the first failure; NULL: nothing */
    void (*found)(void *user, const ts_verify_finding *f); /* every finding, when all have run; NULL: nobody */
    void *user;
} ts_verify_options;

typedef struct {
    long long passed, failed, skipped;
} ts_verify_counts;

/* TS_OK; TS_DIFFERS: something failed; TS_USAGE: nothing was selected; TS_BAD: no goldens, a malformed schedule
 * (as `check --plugin` refuses them). *out may be NULL. Every schedule runs in a forked child on all cores. */
ts_status ts_verify(const ts_verify_options *o, ts_verify_counts *out, ts_error *err);

/* The first of: `given` (--golden), $TOUCHSTONE_GOLDEN, ./golden, the installed goldens. */
const char *ts_golden_folder(const char *given);

#endif
