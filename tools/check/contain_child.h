/* The child's side of a trial. */
#ifndef TS_CHECK_CONTAIN_CHILD_H
#define TS_CHECK_CONTAIN_CHILD_H

#include <signal.h>
#include "check/contain.h"

/* A byte to the child asks for one of these, or for a run; a byte comes back when it is done. */
enum { TS_STEP_ACCEPT, TS_STEP_LEAVE, TS_STEP_RUN };

typedef struct {
    int way, fill, part; /* of the ranges; -1: the whole */
} ts_trial_run_plan;

enum { TS_TRIAL_RUNS = 10 };
extern const ts_trial_run_plan ts_trial_plan[TS_TRIAL_RUNS];

/* In shared memory: what the child leaves for its parent. */
typedef struct {
    volatile sig_atomic_t signal, code;
    const void *volatile address;
    const char *volatile doing; /* what else than a run is under way: "pack ", or "" */
    bool accepted;
    char problem[256];
    ts_guard packed[TS_MATRICES]; /* in the child's memory */
} ts_outcome;

/* Does what it is asked until the other end of fd is closed. */
_Noreturn void ts_contained(const ts_schedule *s, ts_call *call, ts_outcome *o, int fd);

/* Packs the matrices of the call in guarded memory, every way too; false: o->problem says what is wrong. */
bool ts_contained_pack(const ts_packing *p, ts_call *call, ts_outcome *o);
/* run(what, begin, end) for both halves of 0 .. n at once. */
void ts_on_two_threads(void (*run)(const void *what, int64_t begin, int64_t end), const void *what, int64_t n);

#endif
