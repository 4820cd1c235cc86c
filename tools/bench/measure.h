/* Time that can be compared: contenders take turns A B A B in one run, and what is said of two of them is the
 * median of the ratios of neighbouring turns. */
#ifndef TS_BENCH_MEASURE_H
#define TS_BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "num/status.h"

typedef struct {
    double median, low, high; /* quartiles */
} ts_spread;

double ts_now(void); /* nanoseconds on the wall */
/* Nanoseconds that this thread was on a core: others that want the core cost it no time. */
double ts_now_on_core(void);
/* n >= 1; sorts x. */
ts_spread ts_spread_of(double *x, size_t n);

/* What a contender is to the others in its match. */
typedef enum {
    TS_SCHEDULE,
    TS_PEER,     /* other software on the same problem */
    TS_PORTABLE, /* a schedule that needs no isa: others are compared with it */
    TS_READ,     /* the bandwidth of reading, or of reading and writing, the same footprint */
    TS_PEAK,     /* the probe's instruction and nothing else */
} ts_contender_kind;

typedef struct {
    char name[64];
    ts_contender_kind kind;
    void (*run)(void *context, int64_t copy);
    double (*guess)(void *context); /* nanoseconds a call may take, found without a whole call; or NULL */
    void *context;
    int64_t copies;     /* of what it streams through; turns cycle over them */
    double bytes, macs; /* moved, multiplied in a call; 0: not counted */
    double tokens;      /* of a model in a call; 0: this is no model */
    double prepared;    /* nanoseconds of packing, before; 0: none */
    /* set by ts_match_run */
    int64_t next;   /* copy */
    int64_t calls;  /* timed together in a turn */
    double *ns;     /* of a call in each round; owned */
    char skip[128]; /* why it was not timed, or "" */
} ts_contender;

enum { TS_MAX_CONTENDERS = 64, TS_LEAST_ROUNDS = 5, TS_MOST_ROUNDS = 201 };

typedef struct {
    ts_contender v[TS_MAX_CONTENDERS];
    size_t n;
    int threads; /* one is timed by ts_now_on_core, several by ts_now */
    size_t rounds;
} ts_match;

/* NULL if the match is full. */
ts_contender *ts_match_add(ts_match *m, const char *name, ts_contender_kind kind);
/* Warms up and times, each contender for about `seconds`; one whose single call takes longer is skipped. */
ts_status ts_match_run(ts_match *m, double seconds, ts_error *err);
void ts_match_free(ts_match *m);

/* Of a timed contender's rounds. */
ts_spread ts_match_time(const ts_match *m, const ts_contender *c);
/* How many times faster c is than yard: in bandwidth if yard is a TS_READ, in multiply-adds if it is the TS_PEAK,
 * otherwise in time. False if that makes no sense for the two; peers are held against the machine alone. */
bool ts_match_ratio(const ts_match *m, const ts_contender *c, const ts_contender *yard, ts_spread *out);

#endif
