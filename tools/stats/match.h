/* Two records of rounds: are they the same, or of the same law? (docs/speculation.md, comparison) */
#ifndef TS_TOOLS_STATS_MATCH_H
#define TS_TOOLS_STATS_MATCH_H

#include "stats/tokens.h"

typedef enum { TS_MATCH_EXACT, TS_MATCH_PAIRED, TS_MATCH_FREE } ts_match_level;

/* Of the rounds that got as far as cell lo..hi of a: how many ended in it. */
typedef struct {
    int k, lo, hi;
    uint64_t here[2], beyond[2];
    double G, p; /* 1 degree of freedom; p times the number of parts, at most 1 */
} ts_match_part;

enum { TS_MAX_PARTS = TS_MAX_DRAFT * (TS_MAX_DRAFT + 1) / 2 }; /* k of them for every k */

typedef struct {
    ts_match_level level;
    double alpha;
    /* exact and paired: tuples (prompt, n, anchor, k, drafts, a, final) */
    uint64_t equal, unequal;
    size_t first;     /* the first round that differs */
    const char *what; /* in "n", "anchor", ... or "" */
    /* paired: the same committed tokens before every round */
    uint64_t more, fewer; /* rounds where b accepted more or fewer than a */
    uint64_t splits;      /* rounds where a or final differ */
    int max_k;
    uint64_t drafted[TS_MAX_DRAFT + 1],
        agreed[TS_MAX_DRAFT + 1];        /* draft i of 1..k: proposed, the same id in both */
    uint64_t alone[2][TS_MAX_DRAFT + 1]; /* rounds where drafts before i were kept in both, and i in a or b alone */
    double alone_p[TS_MAX_DRAFT + 1];    /* sign test of the two, times max_k, at most 1 */
    double sign_p;
    bool capped;
    double near;  /* the cap: splits may not outnumber a's rounds with less slack than this */
    uint64_t cap; /* those rounds */
    /* free: independent streams, compared prompt by prompt and k by k */
    ts_stat_tokens tokens;
    uint64_t compared[2];            /* rounds of a prompt and a k that both records have */
    double difference, error, df, p; /* mean a of b less a's, its standard error, degrees of freedom, two-sided p */
    bool estimated;                  /* the rounds have a spread: error, low, high and power are numbers */
    double low, high;                /* of the difference, at 1 - alpha */
    size_t clusters;                 /* prompts of the jackknife, 0: rounds taken as independent */
    double G, G_df, G_p;             /* several prompts: Mantel and Haenszel's chi-square takes the place of G */
    ts_match_part part[TS_MAX_PARTS];
    int parts;
    double power;       /* of seeing a mean shifted by 2 % */
    double rounds_each; /* that a power of 0.9 would take */
    bool alarm;
} ts_match;

/* near: NAN for no cap. Errors: prompts that only one record has, no k that both have, a cap without recorded
 * slacks. */
ts_status ts_match_records(const ts_stat_record *a, const ts_stat_record *b, double alpha, double near,
                           ts_match *out, ts_error *err);

#endif
