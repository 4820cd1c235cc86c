/* What touchstone stats keeps of a file of rounds. */
#ifndef TS_TOOLS_STATS_RECORD_H
#define TS_TOOLS_STATS_RECORD_H

#include "stats/prompts.h"

typedef struct {
    size_t prompt; /* index of its name */
    int64_t n;
    int32_t anchor, final;
    int k, a, emitted;
    int32_t draft[TS_MAX_DRAFT];
    double slack; /* the smaller of min_slack and min_margin; infinite: neither is recorded */
} ts_stat_round;

typedef struct {
    const char *path;
    ts_stat_round *round;
    size_t n, room;
    ts_stat_prompts prompts;
} ts_stat_record;

/* What was loaded before an error is freed. */
ts_status ts_stat_load(const char *path, ts_stat_record *out, ts_error *err);
/* Appends a round of that prompt. */
ts_status ts_stat_add(ts_stat_record *s, const ts_stat_round *r, const char *prompt, ts_error *err);
void ts_stat_free(ts_stat_record *s);

/* Sums over rounds; every published number is made of these. Index i of reached and offered is a draft, 1..k. */
typedef struct {
    uint64_t rounds, drafting;           /* all, and those with k > 0 */
    uint64_t proposed, accepted, tested; /* sums of k, a, min(a + 1, k) */
    uint64_t emitted;                    /* sum of what went out after trimming */
    uint64_t kept_slots, slots;          /* sums of min(a + 1, emitted) and k + 1 */
    uint64_t squares;                    /* sum of a^2 */
    int max_k;
    uint64_t reached[TS_MAX_DRAFT + 1]; /* rounds with a >= i */
    uint64_t offered[TS_MAX_DRAFT + 1]; /* rounds with a >= i - 1 and k >= i */
    uint64_t hist[TS_MAX_DRAFT + 1];    /* rounds with that a */
} ts_counts;

void ts_count_round(const ts_stat_round *r, ts_counts *c);
ts_counts ts_count(const ts_stat_record *s);
double ts_mean_accepted(const ts_counts *c);
/* Of a over rounds, with R - 1; 0 for one round. */
double ts_variance(const ts_counts *c);

#endif
