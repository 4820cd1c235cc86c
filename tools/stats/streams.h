/* Independent streams: one law or two? (docs/speculation.md, comparison) */
#ifndef TS_TOOLS_STATS_STREAMS_H
#define TS_TOOLS_STATS_STREAMS_H

#include "stats/match.h"

/* The test of the mean. */
ts_status ts_match_streams(const ts_stat_record *a, const ts_stat_record *b, ts_match *m, ts_error *err);

#endif
