/* What touchstone stats tells: text, JSON, a plot. */
#ifndef TS_TOOLS_STATS_REPORT_H
#define TS_TOOLS_STATS_REPORT_H

#include <cjson/cJSON.h>
#include <stdio.h>
#include "stats/match.h"

typedef struct {
    const ts_stat_record *record;
    ts_counts c;
} ts_stat_side;

/* What looks broken whatever the law: every proposal rejected, or every one accepted; NULL if neither. */
const char *ts_stat_flag(const ts_counts *c);

/* Wilson's interval of hits in n, at 95 %. */
void ts_stat_band(uint64_t hits, uint64_t n, double *low, double *high);

void ts_stat_print(const ts_stat_side *side);
cJSON *ts_stat_json(const ts_stat_side *side);

/* "SAME", "NO DIFFERENCE SEEN" or "DIFFERS". */
const char *ts_match_verdict(const ts_match *m);
void ts_match_print(const ts_match *m, const ts_stat_side *a, const ts_stat_side *b);
cJSON *ts_match_json(const ts_match *m);

/* Hazards and histograms of one or two records, each with its band. */
void ts_stat_svg(const ts_stat_side *side, int sides, FILE *f);

#endif
