/* The tokens that two records committed: is it one target stream, whatever was accepted on the way? */
#ifndef TS_TOOLS_STATS_TOKENS_H
#define TS_TOOLS_STATS_TOKENS_H

#include "stats/record.h"

typedef struct {
    size_t prompts, parted; /* that both records have; whose streams part */
    uint64_t same;          /* tokens of these prompts up to there, or as far as both records go */
    size_t prompt;          /* the first that parts, as `a` counts them */
    int64_t at;             /* the position of the first token that differs; -1: the streams begin elsewhere */
    int32_t id[2];
} ts_stat_tokens;

ts_status ts_stat_tokens_of(const ts_stat_record *a, const ts_stat_record *b, ts_stat_tokens *out, ts_error *err);

#endif
