/* One function over every stride-th f32: how far ref32 is from the true value and
 * from the correctly rounded one, and whether every schedule gives ref32's bits. */
#ifndef TS_TESTS_SWEEP_SWEEP_H
#define TS_TESTS_SWEEP_SWEEP_H

#include <stdbool.h>
#include "num/status.h"
#include "sweep/function.h"

enum { TS_SWEEP_TOP = 10 };

/* The inputs with the largest keys, largest first; of equal keys, those with the smallest bits. */
typedef struct {
    int n;
    double key[TS_SWEEP_TOP];
    uint32_t bits[TS_SWEEP_TOP];
} ts_sweep_top;

/* Inputs on one side of the split. */
typedef struct {
    int64_t off[3], more; /* results 0, 1, 2 and more ulp from the correctly rounded value */
    int64_t nan;          /* rightly NaN */
    int64_t wrong;        /* NaN where a number belongs or the reverse, or a zero of the wrong sign */
    int64_t distance;     /* largest distance from the correctly rounded value, in ulp */
    ts_sweep_top worst;   /* key: error from the true value in ulp */
} ts_sweep_range;

typedef struct {
    int64_t inputs, ties;    /* ties: true values exactly between two results */
    int64_t unequal;         /* results of a schedule with other bits than ref32's */
    int64_t witnessed;       /* results decided by MPFR */
    double witness;          /* largest error of libm's double in ulp of the format, over a sample */
    ts_sweep_range range[2]; /* x >= split and NaN; x < split */
    ts_sweep_top hardest;    /* key: minus the distance from a tie in ulp, ties themselves left out */
    uint32_t first_unequal;  /* bits of the smallest such input */
} ts_sweep;

ts_status ts_sweep_run(const ts_sweep_function *f, uint64_t stride, bool progress, ts_sweep *out, ts_error *err);

/* What the contract promises held for every input. */
bool ts_sweep_good(const ts_sweep_function *f, const ts_sweep *s);

/* f(x), as ref32 and its kin compute it. */
float ts_sweep_apply(const ts_sweep_function *f, float x);

/* The names of the schedules that are compared, comma separated. */
void ts_sweep_schedules(const ts_sweep_function *f, char *out, size_t size);

#endif
