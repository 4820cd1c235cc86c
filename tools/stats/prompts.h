/* The names of a record's prompts, in the order in which they first appear. */
#ifndef TS_TOOLS_STATS_PROMPTS_H
#define TS_TOOLS_STATS_PROMPTS_H

#include "round.h"

typedef struct {
    char (*name)[TS_ROUND_NAME];
    size_t n, room;
    size_t *slot; /* a hash table: index + 1, 0 where it is empty */
    size_t slots; /* 0 or a power of two, at least twice n */
} ts_stat_prompts;

/* *at: the index of the name, which becomes the last one if it is new. */
ts_status ts_prompts_add(ts_stat_prompts *p, const char *name, size_t *at, ts_error *err);
/* False: it is not there. */
bool ts_prompts_find(const ts_stat_prompts *p, const char *name, size_t *at);
void ts_prompts_free(ts_stat_prompts *p);

#endif
