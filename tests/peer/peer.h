/* What the two programs that are timed against each other share. */
#ifndef TS_TESTS_PEER_H
#define TS_TESTS_PEER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The i-th id of the prompt that is timed: any vocabulary has it. */
static inline int32_t ts_peer_id(int i)
{
    return (i * 37 + 11) % 2000;
}

static inline double ts_peer_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* At most `most` ids from the line; it is cut up. */
static inline int ts_peer_ids(char *line, int32_t *ids, int most)
{
    int n = 0;
    for (char *word = strtok(line, " \n"); word && n < most; word = strtok(NULL, " \n"))
        ids[n++] = (int32_t)strtol(word, NULL, 10);
    return n;
}

static inline int32_t ts_peer_best(const float *logits, int32_t V)
{
    int32_t best = 0;
    for (int32_t i = 1; i < V; i++)
        if (logits[i] > logits[best])
            best = i;
    return best;
}

#endif
