/* What two records have in common: rounds of one prompt and one k. Prompts differ far more than kernels do, and
 * rounds of another k are of another law, so like is compared with like, however many rounds each record has. */
#ifndef TS_TOOLS_STATS_STRATA_H
#define TS_TOOLS_STATS_STRATA_H

#include "stats/record.h"

typedef struct {
    int k;
    size_t prompt;                   /* of the first record */
    uint64_t n[2][TS_MAX_DRAFT + 1]; /* rounds of either record, by accepted drafts */
} ts_stratum;

typedef struct {
    ts_stratum *s; /* by k, then prompt */
    size_t n;
} ts_strata;

/* The strata with proposals of which both have rounds. Errors: a prompt that only one record has, no such stratum.
 */
ts_status ts_strata_of(const ts_stat_record *a, const ts_stat_record *b, ts_strata *out, ts_error *err);
void ts_strata_free(ts_strata *t);

/* Rounds that accepted from..to drafts. */
uint64_t ts_rounds_between(const uint64_t *n, int from, int to);

#endif
