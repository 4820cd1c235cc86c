/* The functions of one f32 that are swept over all inputs: what computes each,
 * what it should be, and how far from that the contract allows it to be. */
#ifndef TS_TESTS_SWEEP_FUNCTION_H
#define TS_TESTS_SWEEP_FUNCTION_H

#include <mpfr.h>
#include "case/op.h"

/* A binary floating-point format: the grid that results lie on. */
typedef struct {
    int precision, emin, emax; /* bits with the leading one; exponents of the normal numbers 1.f * 2^e */
} ts_sweep_format;

typedef struct {
    const char *name;
    ts_op_id op;                                        /* ref32's operation, TS_OP_COUNT if `apply` computes it */
    void (*apply)(const float *x, float *y, int64_t n); /* results widened to f32, which is exact */
    double (*truth)(double x);                          /* libm: a few of double's ulps off */
    void (*witness)(mpfr_t y, const mpfr_t x);          /* y in x's precision */
    ts_sweep_format format;
    int64_t allowed; /* ulp from the correctly rounded value, for x >= split and NaN */
    float split;     /* below it the function may leave the true value, and is recorded apart */
} ts_sweep_function;

const ts_sweep_function *ts_sweep_at(int i); /* NULL past the last */
const ts_sweep_function *ts_sweep_find(const char *name);

#endif
