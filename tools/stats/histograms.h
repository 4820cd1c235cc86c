/* The tests of the histogram of a, position by position. */
#ifndef TS_TOOLS_STATS_HISTOGRAMS_H
#define TS_TOOLS_STATS_HISTOGRAMS_H

#include "stats/match.h"
#include "stats/strata.h"

/* Fills parts, G, G_df and G_p; by prompt: Mantel and Haenszel's test, else G. */
void ts_match_histograms(const ts_strata *t, bool by_prompt, ts_match *m);

#endif
