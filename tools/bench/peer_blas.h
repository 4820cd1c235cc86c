/* OpenBLAS as a peer: sgemm on widened weights. */
#ifndef TS_BENCH_PEER_BLAS_H
#define TS_BENCH_PEER_BLAS_H

#include "bench/measure.h"
#include "openblas.h"

enum { TS_BLAS_LEAST_ROWS = 512 };

typedef struct ts_blas_problem ts_blas_problem;

/* The core that OPENBLAS_CORETYPE should name on this CPU, or NULL: let it choose. */
const char *ts_blas_core_type(void);
/* Adds sgemm [T,K] x [N,K]^T. TS_BAD: it runs on a core of 20 years ago, or there is no memory. */
ts_status ts_blas_enter(const ts_openblas *b, int64_t T, int64_t N, int64_t K, ts_match *m, ts_blas_problem **out,
                        ts_error *err);
void ts_blas_leave(ts_blas_problem *p);

#endif
